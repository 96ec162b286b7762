#include "ops/linear/fixed_order.h"
#include "ops/linear/scaled_mm.h"

namespace tenon::ops::linear {

Contract fp8_scaled_mm() {
  Contract c("linear", "fp8_scaled_mm");
  c.Doc("y = (x weight^T) * (x_scale * weight_scale) + bias; sums in float32");
  c.In("x", ir::Elem(DType::kF8E4M3), "..., k").MayBeEmpty();
  c.In("weight", ir::Elem(DType::kF8E4M3), "n, k").MayBeEmpty();
  DeclareScale(c, "x_scale", "tokens");
  DeclareScale(c, "weight_scale", "n");
  c.OptionalIn("bias", ir::Elem::Storage(), "n", -0.0).NoneByDefault().MayBeEmpty();
  c.KeywordOnly();
  DeclareOutDType(c);
  c.Out("y", ir::Elem::Storage(), "..., n");
  c.Function(ComputeFp8ScaledMm);
  return c;
}

}  // namespace tenon::ops::linear
