#include "ops/registry.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace tenon::ops {
namespace {

std::vector<Operator> BuildOperators() {
  std::vector<Operator> operators;
#define TENON_OP(family, name) operators.emplace_back(family::name());
#include "ops/ops.def"
#undef TENON_OP
  return operators;
}

std::map<std::string, OperatorForm, std::less<>> BuildForms() {
  std::map<std::string, OperatorForm, std::less<>> forms;
  for (const Operator& op : Operators()) {
    if (op.contract().functional()) forms[op.name()] = {&op, nullptr};
    for (const InPlaceForm& form : op.contract().in_place_forms()) forms[form.name] = {&op, &form};
  }
  return forms;
}

const std::map<std::string, OperatorForm, std::less<>>& Forms() {
  static const auto* const forms = new auto(BuildForms());
  return *forms;
}

}  // namespace

Operator::Operator(Contract contract)
    : contract_(std::move(contract)), variants_(contract_.Variants()) {
  for (size_t i = 0; i < variants_.size(); ++i) {
    by_choices_[ChoicesText(variants_[i].choices)] = i;
  }
}

const Variant& Operator::FindVariant(const Choices& choices) const {
  const auto it = by_choices_.find(ChoicesText(choices));
  TENON_ASSERT(it != by_choices_.end(), "{} has no variant {}", name(), ChoicesText(choices));
  return variants_[it->second];
}

std::span<const Operator> Operators() {
  static const auto* const operators = new auto(BuildOperators());
  return *operators;
}

const OperatorForm& FindOperator(std::string_view name) {
  const auto it = Forms().find(name);
  if (it != Forms().end()) return it->second;
  const std::vector<std::string> near = NearestNames(name, OperatorNames());
  throw UsageError(fmt::format(
      "there is no operator {}{}", name,
      near.empty() ? "; `tenon ops` lists them" : "; did you mean " + Join(near, " or ") + "?"));
}

std::vector<std::string> OperatorNames() {
  std::vector<std::string> names;
  for (const auto& [name, form] : Forms()) names.push_back(name);
  return names;
}

}  // namespace tenon::ops
