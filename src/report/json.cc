#include <algorithm>

#include "report/schema.h"

namespace tenon::report {
namespace {

constexpr size_t kLineWidth = 100;

std::string Scalar(const Json& json) {
  // Quoted source lines may hold bytes that are not UTF-8.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// An object or array that fits goes on one line: a report is read by people too, and its diffs stay
// small. `indent` is that of the line, or kFlat.
constexpr size_t kFlat = std::string::npos;

std::string Print(const Json& json, size_t indent) {
  if (!json.is_structured() || json.empty()) return Scalar(json);
  if (indent != kFlat) {
    if (std::string flat = Print(json, kFlat); indent + flat.size() <= kLineWidth) return flat;
  }
  const bool flat = indent == kFlat;
  const std::string line = flat ? "" : "\n" + std::string(indent + 1, ' ');
  std::string out = json.is_object() ? "{" : "[";
  for (const auto& [key, item] : json.items()) {
    if (out.size() > 1) out += flat ? ", " : ",";
    out += line;
    if (json.is_object()) out += Scalar(key) + ": ";
    out += Print(item, flat ? kFlat : indent + 1);
  }
  if (!flat) out += "\n" + std::string(indent, ' ');
  return out + (json.is_object() ? '}' : ']');
}

}  // namespace

void Reader::ConvertDim(const Json& json, const std::string& path, ir::Dim& value) {
  if (json.is_number_integer()) {
    value = ir::Dim(json.get<int64_t>());
    return;
  }
  const std::optional<ir::Dim> parsed =
      json.is_string() ? ir::Dim::Parse(json.get<std::string>()) : std::nullopt;
  TENON_CHECK(parsed, "{} must be an integer or an expression of sizes, got {}", path, json.dump());
  value = *parsed;
}

void Reader::ConvertAttr(const Json& json, const std::string& path, analyze::Attr& value) {
  if (json.is_boolean()) {
    value = json.get<bool>();
  } else if (json.is_number_integer()) {
    value = json.get<int64_t>();
  } else if (json.is_number()) {
    value = json.get<double>();
  } else if (json.is_string()) {
    value = json.get<std::string>();
  } else if (json.is_array()) {
    analyze::Attr::List list;
    Convert(json, path, list);
    value = std::move(list);
  } else if (json.is_object()) {
    analyze::Attr::Map map;
    Convert(json, path, map);
    value = std::move(map);
  } else {
    value = analyze::Attr();
  }
}

std::string ToJson(const Report& report) {
  const std::vector<int64_t>& tokens = report.analysis.environment.tokens;
  const Writer writer(tokens.empty() ? 1 : *std::max_element(tokens.begin(), tokens.end()));
  return Print(writer.Convert(report), 0) + "\n";
}

Report ReadReport(std::string_view text, std::string_view name) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& error) {
    const std::string_view before = text.substr(0, std::min(text.size(), error.byte));
    const size_t line = std::count(before.begin(), before.end(), '\n') + 1;
    const size_t column = before.size() - (before.rfind('\n') + 1);
    throw UsageError(fmt::format("{} is not JSON: line {}, column {}", name, line, column));
  }
  Report report;
  Reader::Convert(json, std::string(name) + ":", report);
  return report;
}

}  // namespace tenon::report
