#include "ops/contract.h"

#include <algorithm>

#include "base/dtype.h"
#include "base/error.h"

namespace tenon::ops {
namespace {

template <typename List>
auto* FindNamed(List& list, std::string_view name) {
  const auto it =
      std::find_if(list.begin(), list.end(), [&](const auto& item) { return item.name == name; });
  return it == list.end() ? nullptr : &*it;
}

template <typename T>
std::optional<ir::AttrValue> AsAttr(const std::optional<T>& value) {
  return value ? std::optional<ir::AttrValue>(*value) : std::nullopt;
}

}  // namespace

const std::string* InPlaceForm::OutputOver(std::string_view input) const {
  for (const auto& [output, written] : writes) {
    if (written == input) return &output;
  }
  return nullptr;
}

const std::string* InPlaceForm::InputUnder(std::string_view output) const {
  for (const auto& [written, input] : writes) {
    if (written == output) return &input;
  }
  return nullptr;
}

const std::string* ResolveChoice(const Param& param, std::string_view word) {
  for (const std::string& choice : param.choices) {
    const size_t equals = choice.find('=');
    if (equals == std::string::npos) {
      if (choice == word) return &choice;
    } else if (std::string_view(choice).substr(0, equals) == word) {
      return ResolveChoice(param, std::string_view(choice).substr(equals + 1));
    }
  }
  return nullptr;
}

int64_t Param::SizeOf(const ir::AttrValue& value) const {
  if (const bool* flag = std::get_if<bool>(&value)) return choice_sizes.at(*flag ? 1 : 0);
  const std::vector<std::string> words = ChoiceWords(*this);
  const auto word = std::find(words.begin(), words.end(), std::get<std::string>(value));
  return choice_sizes.at(static_cast<size_t>(word - words.begin()));
}

std::vector<std::string> ChoiceWords(const Param& param) {
  std::vector<std::string> words;
  for (const std::string& choice : param.choices) {
    if (choice.find('=') == std::string::npos) words.push_back(choice);
  }
  return words;
}

Param& Contract::AddTensor(std::string_view name, ir::Elem elem, std::string_view shapes) {
  TENON_ASSERT(FindParam(name) == nullptr, "{}: {} is declared twice", name_, name);
  Param& param = params_.emplace_back();
  param.name = name;
  param.keyword_only = keyword_only_;
  param.is_tensor = true;
  param.elem = elem;
  param.shapes = ParseShapes(shapes);
  param.axes = BodyAxes(param.shapes.back());
  return param;
}

Param& Contract::AddAttr(std::string_view name, AttrKind kind,
                         std::optional<ir::AttrValue> fallback) {
  TENON_ASSERT(FindParam(name) == nullptr, "{}: {} is declared twice", name_, name);
  Param& param = params_.emplace_back();
  param.name = name;
  param.keyword_only = keyword_only_;
  param.kind = kind;
  param.fallback = std::move(fallback);
  return param;
}

Param& Contract::In(std::string_view name, ir::Elem elem, std::string_view shapes) {
  return AddTensor(name, elem, shapes);
}

Param& Contract::OptionalIn(std::string_view name, ir::Elem elem, std::string_view shapes,
                            double absent) {
  Param& param = AddTensor(name, elem, shapes);
  param.optional = true;
  param.absent = absent;
  return param;
}

Param& Contract::Bool(std::string_view name, std::optional<bool> fallback) {
  return AddAttr(name, AttrKind::kBool, AsAttr(fallback));
}

Param& Contract::Int(std::string_view name, std::optional<int64_t> fallback) {
  return AddAttr(name, AttrKind::kInt, AsAttr(fallback));
}

Param& Contract::OptionalInt(std::string_view name, std::string_view absent_size) {
  Param& param = AddAttr(name, AttrKind::kInt, std::nullopt);
  param.nullable = true;
  param.absent_size = absent_size;
  return param;
}

Param& Contract::Float(std::string_view name, std::optional<double> fallback) {
  return AddAttr(name, AttrKind::kFloat, AsAttr(fallback));
}

Param& Contract::String(std::string_view name, std::optional<std::string> fallback,
                        std::vector<std::string> choices) {
  Param& param = AddAttr(name, AttrKind::kString, AsAttr(fallback));
  param.choices = std::move(choices);
  param.is_static = true;
  return param;
}

Param& Contract::Text(std::string_view name, std::optional<std::string> fallback) {
  return AddAttr(name, AttrKind::kString, AsAttr(fallback));
}

Param& Contract::IntList(std::string_view name, int64_t length) {
  Param& param = AddAttr(name, AttrKind::kIntList, std::nullopt);
  param.length = length;
  return param;
}

Param& Contract::ScalarType(std::string_view name, std::vector<std::string> choices) {
  Param& param = AddAttr(name, AttrKind::kDType, std::nullopt);
  param.choices = std::move(choices);
  return param;
}

Param& Contract::OptionalScalarType(std::string_view name, std::vector<std::string> choices) {
  Param& param = ScalarType(name, std::move(choices));
  param.nullable = true;
  return param;
}

OutParam& Contract::Out(std::string_view name, ir::Elem elem, std::string_view shape) {
  OutParam& out = outs_.emplace_back();
  out.name = name;
  out.elem = elem;
  out.shape = ParseShapes(shape)[0];
  out.axes = BodyAxes(out.shape);
  return out;
}

void Contract::Require(std::string_view left, Compare compare, std::string_view right,
                       std::string_view sentence) {
  requirements_.push_back({ir::Dim(left), compare, ir::Dim(right), std::string(sentence)});
}

void Contract::InPlace(std::string_view name,
                       std::vector<std::pair<std::string, std::string>> writes) {
  for (const auto& [output, input] : writes) {
    TENON_ASSERT(FindOut(output) != nullptr && FindParam(input) != nullptr,
                 "{}: {} over {} names no output or no input", name, output, input);
  }
  in_place_.push_back({std::string(name), std::move(writes)});
}

void Contract::LimitRows(std::string_view list, std::string_view cumulative) {
  for (Param& param : params_) {
    if (param.name == list) param.outside_body = true;
  }
  row_limit_ = {std::string(list), std::string(cumulative)};
}

const Param* Contract::FindParam(std::string_view name) const { return FindNamed(params_, name); }
const OutParam* Contract::FindOut(std::string_view name) const { return FindNamed(outs_, name); }
const InPlaceForm* Contract::FindForm(std::string_view name) const {
  return FindNamed(in_place_, name);
}

ir::Graph Contract::BuildBody(const Choices& choices) const {
  ops::Body body(*this, choices);
  body_(body);
  return body.Take();
}

}  // namespace tenon::ops
