// The operators of ops.def, by name.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/contract.h"

namespace tenon::ops {

#define TENON_OP(family, name) \
  namespace family {           \
  Contract name();             \
  }
#include "ops/ops.def"
#undef TENON_OP

// A contract with its bodies, built once.
class Operator {
 public:
  explicit Operator(Contract contract);
  const std::string& name() const { return contract_.name(); }
  const Contract& contract() const { return contract_; }
  const std::vector<Variant>& variants() const { return variants_; }
  const Variant& FindVariant(const Choices& choices) const;  // all static parameters

 private:
  Contract contract_;
  std::vector<Variant> variants_;
  std::map<std::string, size_t> by_choices_;  // ChoicesText -> index
};

// In the order of ops.def.
std::span<const Operator> Operators();

// An operator, in its functional form (`in_place` null) or in an in-place one.
struct OperatorForm {
  const Operator* op = nullptr;
  const InPlaceForm* in_place = nullptr;
  const std::string& name() const { return in_place != nullptr ? in_place->name : op->name(); }
};

// UsageError with the nearest names when there is none of that name.
const OperatorForm& FindOperator(std::string_view name);
std::vector<std::string> OperatorNames();  // in-place forms included, sorted

}  // namespace tenon::ops
