#include "ops/rope/tables.h"

#include <cmath>

namespace tenon::ops::rope {

void DeclareRotaryDim(Contract& c) {
  c.Int("rotary_dim").Positive();
  c.Require("2", Compare::kDivides, "rotary_dim", "rotary_dim must be even");
}

void DeclareBase(Contract& c) { c.Float("base").Positive(); }

void DeclareInvFreq(Contract& c) { c.Out("inv_freq", DType::kF32, "rotary_dim//2"); }

double Period(const Resolved& call, int64_t pair) {
  const auto dim = static_cast<double>(IntOf(call, "rotary_dim"));
  return std::pow(NumberOf(call, "base"), static_cast<double>(2 * pair) / dim);
}

}  // namespace tenon::ops::rope
