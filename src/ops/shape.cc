#include "base/error.h"
#include "base/text.h"
#include "ops/contract.h"

namespace tenon::ops {
namespace {

// Splits at commas outside parentheses: "tokens, ceil(n, 4)" has two entries.
std::vector<std::string> ShapeEntries(std::string_view shape) {
  std::vector<std::string> entries;
  std::string entry;
  int depth = 0;
  for (char c : shape) {
    depth += (c == '(') - (c == ')');
    if (c == ',' && depth == 0) {
      entries.emplace_back(Strip(entry));
      entry.clear();
    } else {
      entry += c;
    }
  }
  if (!Strip(entry).empty()) entries.emplace_back(Strip(entry));
  return entries;
}

// "width=2*d" -> {width, 2*d}; "hidden" -> {hidden, hidden}; "2*d" has no name.
ir::Axis ParseAxis(std::string_view entry) {
  const size_t equals = entry.find('=');
  if (equals != std::string_view::npos) {
    return {std::string(Strip(entry.substr(0, equals))), ir::Dim(Strip(entry.substr(equals + 1)))};
  }
  const ir::Dim size(entry);
  const std::vector<std::string> symbols = size.symbols();
  const bool is_name = symbols.size() == 1 && size == ir::Dim(symbols[0]);
  return {is_name ? symbols[0] : "", size};
}

Shape ParseShape(std::string_view text) {
  Shape shape;
  for (const std::string& entry : ShapeEntries(text)) {
    if (entry == "...") {
      TENON_ASSERT(shape.axes.empty() && !shape.lead, "'...' comes first in a shape: {}", text);
      shape.lead = true;
    } else {
      shape.axes.push_back(ParseAxis(entry));
    }
  }
  return shape;
}

}  // namespace

std::string Shape::text() const {
  std::string text = lead ? "..." : "";
  for (const ir::Axis& axis : axes) text += (text.empty() ? "" : ", ") + axis.size.text();
  return text;
}

std::vector<Shape> ParseShapes(std::string_view text) {
  std::vector<Shape> shapes;
  for (const std::string& alternative : Split(text, '|')) {
    shapes.push_back(ParseShape(alternative));
    TENON_ASSERT(shapes.back().lead == shapes[0].lead, "all alternatives have '...', or none: {}",
                 text);
  }
  return shapes;
}

std::vector<ir::Axis> BodyAxes(const Shape& shape) {
  std::vector<ir::Axis> axes;
  if (shape.lead) axes.push_back(ir::NamedAxis("tokens"));
  axes.insert(axes.end(), shape.axes.begin(), shape.axes.end());
  return axes;
}

Param& Param::As(std::string_view body_axes) {
  axes = BodyAxes(ParseShapes(body_axes)[0]);
  return *this;
}

OutParam& OutParam::As(std::string_view body_axes) {
  axes = BodyAxes(ParseShapes(body_axes)[0]);
  return *this;
}

}  // namespace tenon::ops
