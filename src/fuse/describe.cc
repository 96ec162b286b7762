#include "fuse/describe.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "fuse/compose.h"

namespace tenon::fuse {
namespace {

constexpr size_t kInterfaceWidth = 96;

// Breaks a signature at its commas, continuation lines indented by four.
std::string Wrap(std::string_view signature) {
  std::string text;
  size_t column = 0;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= signature.size(); ++i) {
    const bool end = i == signature.size();
    if (!end && signature[i] == '[') ++depth;
    if (!end && signature[i] == ']') --depth;
    if (!end && !(signature[i] == ',' && depth == 0)) continue;
    std::string_view piece = signature.substr(begin, i + (end ? 0 : 1) - begin);
    if (column > 0 && column + piece.size() > kInterfaceWidth) {
      while (piece.starts_with(' ')) piece.remove_prefix(1);
      text += "\n    ";
      column = 4;
    }
    text += piece;
    column += piece.size();
    begin = i + 1;
  }
  return text;
}

std::string ShapeOf(const ir::Type& type) {
  std::string text;
  for (const ir::Axis& axis : type.axes) {
    const ir::Dim size = axis.size.Substitute({{"tokens", ir::Dim(kTokens)}});
    text += (text.empty() ? "" : ", ") + size.text();
  }
  return "[" + text + "]";
}

std::string ElemOf(const ir::Elem& elem, DType storage) {
  if (elem.concrete()) return std::string(TorchName(elem.dtype));
  if (elem == ir::Elem::Param()) return fmt::format("{} or float32", TorchName(storage));
  if (elem == ir::Elem::Index()) return "int32 or int64";
  return std::string(TorchName(storage));
}

std::string BodyComments(const ir::Graph& body, DType storage) {
  std::string text;
  for (const ir::NodeId id : body.inputs()) {
    const ir::Node& node = body.node(id);
    text += fmt::format("\n    # {} {} {}", node.name, ShapeOf(node.type),
                        ElemOf(node.type.elem, storage));
  }
  text += "\n    # ->";
  for (const ir::Output& output : body.outputs()) {
    const ir::Type& type = body.node(output.value).type;
    const char* comma = &output == &body.outputs().back() ? "" : ",";
    text +=
        fmt::format(" {} {} {}{}", output.name, ShapeOf(type), ElemOf(type.elem, storage), comma);
  }
  return text;
}

std::string StepComment(const Sequence& s, int i) {
  std::string text = "\n    # " + s.step(i).op + ":";
  const char* separator = " ";
  for (const Operand& operand : s.step(i).in) {
    const ir::Type& type = s.TypeOf(operand.value);
    text += fmt::format("{}{} {}", separator, ShapeOf(type), ElemOf(type.elem, DType::kBF16));
    separator = ", ";
  }
  separator = " -> ";
  for (const ir::Type& type : s.graph().node(s.step(i).call).results) {
    text += fmt::format("{}{} {}", separator, ShapeOf(type), ElemOf(type.elem, DType::kBF16));
    separator = ", ";
  }
  return text;
}

}  // namespace

ir::Graph ComposeMatch(const Match& match, const Model& model) {
  ComposeRequest request;
  request.name = match.scene->name;
  request.storage = model.dtype;
  request.rows = kTokens;
  request.keep_link = match.scene->multi_output;
  ComposePart part{&match.sequence->graph(), {}, -1};
  for (const int step : match.steps) part.calls.push_back(match.sequence->step(step).call);
  std::sort(part.calls.begin(), part.calls.end());
  request.parts.push_back(std::move(part));
  if (match.next_step) {
    const Step& sink = match.next->step(*match.next_step);
    request.parts.push_back({&match.next->graph(), {sink.call}, sink.in.at(0).root});
  }
  return Compose(request);
}

std::string InterfaceText(const Match& match, const ir::Graph* body, const Model& model) {
  std::string text = Wrap(match.scene->interface);
  if (body != nullptr) return text + BodyComments(*body, model.dtype);
  for (const int step : match.steps) text += StepComment(*match.sequence, step);
  if (match.next_step) text += StepComment(*match.next, *match.next_step);
  return text;
}

std::vector<FileLines> FilesOf(const Match& match) {
  std::map<std::string, std::set<int>> lines;
  for (const int step : match.steps) {
    const ir::Span& span = match.sequence->span(step);
    lines[span.file].insert(span.line);
  }
  if (match.next_step) {
    const ir::Span& span = match.next->span(*match.next_step);
    lines[span.file].insert(span.line);
  }
  std::vector<FileLines> files;
  for (const auto& [file, at] : lines) files.push_back({file, {at.begin(), at.end()}});
  return files;
}

std::vector<int> OpsOf(const Match& match) {
  std::vector<int> ops;
  for (const int step : match.steps) ops.push_back(match.sequence->step(step).index);
  std::sort(ops.begin(), ops.end());
  return ops;
}

}  // namespace tenon::fuse
