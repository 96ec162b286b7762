// The torch schema of a contract and of its in-place forms.
#include <fmt/ranges.h>

#include "base/error.h"
#include "ops/contract.h"

namespace tenon::ops {
namespace {

// As torch prints them, without the padded exponent: 1e-6, 7.0, 1.702.
std::string FloatText(double value) {
  std::string text = fmt::format("{}", value);
  if (const size_t e = text.find('e'); e != std::string::npos) {
    const size_t digit = text.find_first_not_of("+-0", e + 1);
    const bool negative = text[e + 1] == '-';
    return text.substr(0, e) + (negative ? "e-" : "e") + text.substr(digit);
  }
  return text.find_first_of(".n") == std::string::npos ? text + ".0" : text;
}

std::string DefaultText(const Param& param) {
  if (param.nullable || param.none_by_default) return "None";
  if (!param.fallback) return "";
  struct Visitor {
    std::string operator()(bool v) const { return v ? "True" : "False"; }
    std::string operator()(int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return FloatText(v); }
    std::string operator()(const std::string& v) const { return '"' + v + '"'; }
    // The only default of a list is one number for all (Param::Repeated).
    std::string operator()(const std::vector<int64_t>& v) const { return std::to_string(v.at(0)); }
  };
  return std::visit(Visitor{}, *param.fallback);
}

std::string KindText(const Param& param) {
  switch (param.kind) {
    case AttrKind::kBool:
      return "bool";
    case AttrKind::kInt:
      return "int";
    case AttrKind::kFloat:
      return "float";
    case AttrKind::kString:
      return "str";
    case AttrKind::kDType:
      return "ScalarType";
    case AttrKind::kIntList:
      return param.fallback ? fmt::format("int[{}]", param.length) : "int[]";
  }
  throw InternalError(__FILE__, __LINE__, "unknown attribute kind");
}

std::string ResultsText(const Contract& contract) {
  const size_t count = contract.outs().size();
  switch (contract.result_kind()) {
    case ResultKind::kTensorList:
      return "Tensor[]";
    case ResultKind::kFloat:
      return "float";
    case ResultKind::kIntList:
      return "int[]";
    case ResultKind::kTensors:
      break;
  }
  if (count == 1) return "Tensor";
  std::string text;
  for (size_t i = 0; i < count; ++i) text += i == 0 ? "Tensor" : ", Tensor";
  return "(" + text + ")";
}

}  // namespace

// "Tensor x, Tensor(a!)? residual, *, float eps=1e-6"; `alias` names the next tensor written.
std::string Contract::ArgumentsText(const InPlaceForm* form, char& alias) const {
  std::string text;
  bool keyword_only = false;
  for (const Param& param : params_) {
    if (&param != &params_.front()) text += ", ";
    if (param.keyword_only && !keyword_only) text += "*, ";
    keyword_only = param.keyword_only;
    if (param.is_tensor) {
      text += "Tensor";
      if (form != nullptr && form->OutputOver(param.name) != nullptr) {
        text += fmt::format("({}!)", alias++);
      }
    } else {
      text += KindText(param);
    }
    if (param.optional || param.nullable) text += "?";
    text += " " + param.name;
    const std::string fallback = DefaultText(param);
    if (!fallback.empty()) text += "=" + fallback;
  }
  return text;
}

std::string Contract::Schema(const InPlaceForm* form) const {
  char alias = 'a';
  const std::string& name = form != nullptr ? form->name : name_;
  return fmt::format("tenon::{}({}) -> {}", name, ArgumentsText(form, alias),
                     form != nullptr ? "()" : ResultsText(*this));
}

std::vector<std::string> Contract::OutArguments() const {
  if (outs_.size() == 1) return {"out"};
  std::vector<std::string> names;
  for (const OutParam& out : outs_) {
    names.push_back(FindParam(out.name) != nullptr ? out.name + "_out" : out.name);
  }
  return names;
}

std::string Contract::OutSchema() const {
  if (result_kind() != ResultKind::kTensors) return "";
  char alias = 'a';
  std::string text = ArgumentsText(nullptr, alias);
  const bool keyword_only = !params_.empty() && params_.back().keyword_only;
  if (!params_.empty()) text += ", ";
  if (!keyword_only) text += "*, ";
  std::string results;
  for (const std::string& name : OutArguments()) {
    results += fmt::format("{}Tensor({}!) {}", results.empty() ? "" : ", ", alias++, name);
  }
  return fmt::format("tenon::{}.out({}{}) -> ()", name_, text, results);
}

}  // namespace tenon::ops
