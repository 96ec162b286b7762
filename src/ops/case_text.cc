// Cases as lines of bench/shapes/*.txt.
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/dtype.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "ops/case.h"

namespace tenon::ops {
namespace {

template <typename T>
T ParseNumber(std::string_view line, std::string_view word, std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  TENON_CHECK(error == std::errc() && end == text.data() + text.size(),
              "case '{}': the value of {} is not a number", line, word);
  return value;
}

Argument ParseAttribute(std::string_view line, const Param& param, std::string_view text) {
  switch (param.kind) {
    case AttrKind::kBool:
      TENON_CHECK(text == "true" || text == "false", "case '{}': {} must be true or false", line,
                  param.name);
      return text == "true";
    case AttrKind::kInt:
      return ParseNumber<int64_t>(line, param.name, text);
    case AttrKind::kFloat:
      return ParseNumber<double>(line, param.name, text);
    case AttrKind::kIntList: {
      std::vector<int64_t> list;
      for (const std::string& number : Split(text, ',')) {
        list.push_back(ParseNumber<int64_t>(line, param.name, number));
      }
      return list;
    }
    case AttrKind::kString:
    case AttrKind::kDType:
      return std::string(text);
  }
  throw InternalError(__FILE__, __LINE__, "unknown attribute kind");
}

std::string ValueText(const Argument& value) {
  if (const bool* v = std::get_if<bool>(&value)) return *v ? "true" : "false";
  if (const int64_t* v = std::get_if<int64_t>(&value)) return std::to_string(*v);
  if (const double* v = std::get_if<double>(&value)) return fmt::format("{}", *v);
  if (const DType* v = std::get_if<DType>(&value)) return std::string(DTypeName(*v));
  if (const std::string* v = std::get_if<std::string>(&value)) return *v;
  if (const auto* v = std::get_if<std::vector<int64_t>>(&value)) {
    return fmt::format("{}", fmt::join(*v, ","));
  }
  return "?";
}

}  // namespace

std::string_view LayoutName(Layout layout) {
  constexpr std::string_view kNames[] = {"dense", "misaligned", "row_gaps", "last_stride",
                                         "expanded"};
  return kNames[static_cast<int>(layout)];
}

CaseSpec ParseCase(std::string_view line) {
  CaseSpec spec;
  const Contract* contract = nullptr;
  for (const std::string& word : Split(Strip(line), ' ')) {
    if (word.empty()) continue;
    if (contract == nullptr) {
      spec.op = word;
      contract = &FindOperator(word).op->contract();
      continue;
    }
    if (word[0] == '+') {
      const Param* param = contract->FindParam(word.substr(1));
      TENON_CHECK(param != nullptr && param->optional, "case '{}': {} has no optional tensor {}",
                  line, spec.op, word.substr(1));
      spec.given.insert(param->name);
      continue;
    }
    const size_t equals = word.find('=');
    TENON_CHECK(equals != std::string::npos, "case '{}': '{}' is neither name=value nor +tensor",
                line, word);
    const std::string name = word.substr(0, equals);
    const std::string_view text = std::string_view(word).substr(equals + 1);
    const Param* param = contract->FindParam(name);
    if (param == nullptr || param->is_tensor) {
      spec.sizes[name] = ParseNumber<int64_t>(line, name, text);
    } else {
      spec.attributes[name] = ParseAttribute(line, *param, text);
    }
  }
  TENON_CHECK(contract != nullptr, "a case begins with the name of an operator");
  return spec;
}

std::vector<CaseSpec> ReadCases(const std::filesystem::path& file) {
  std::vector<CaseSpec> specs;
  for (const std::string& line : Split(ReadFile(file), '\n')) {
    const std::string_view text = Strip(std::string_view(line).substr(0, line.find('#')));
    if (!text.empty()) specs.push_back(ParseCase(text));
  }
  return specs;
}

std::string CaseText(const CaseSpec& spec) {
  std::string text = spec.op;
  for (const auto& [name, value] : spec.sizes) text += fmt::format(" {}={}", name, value);
  for (const auto& [name, value] : spec.attributes) {
    text += fmt::format(" {}={}", name, ValueText(value));
  }
  for (const std::string& name : spec.given) text += " +" + name;
  return text + fmt::format(" {} {} {} {}", ShapeText(spec.lead), DTypeName(spec.storage),
                            DTypeName(spec.param), LayoutName(spec.layout));
}

}  // namespace tenon::ops
