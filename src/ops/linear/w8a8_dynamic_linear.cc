#include "ops/linear/fixed_order.h"
#include "ops/linear/scaled_mm.h"

namespace tenon::ops::linear {

Contract w8a8_dynamic_linear() {
  Contract c("linear", "w8a8_dynamic_linear");
  c.Doc("int8_scaled_mm of dynamic_scaled_int8_quant(x), in the type of x");
  c.In("x", ir::Elem::Storage(), "..., k").MayBeEmpty();
  c.In("weight", ir::Elem(DType::kI8), "n, k").MayBeEmpty();
  DeclareScale(c, "weight_scale", "n");
  c.OptionalIn("bias", ir::Elem::Param(), "n", -0.0).NoneByDefault().MayBeEmpty();
  c.Out("y", ir::Elem::Storage(), "..., n");
  c.Function(ComputeW8a8DynamicLinear);
  return c;
}

}  // namespace tenon::ops::linear
