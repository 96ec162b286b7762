#include "ops/linear/fixed_order.h"
#include "ops/linear/scaled_mm.h"

namespace tenon::ops::linear {

Contract int8_scaled_mm() {
  Contract c("linear", "int8_scaled_mm");
  c.Doc(
      "y = ((x - x_offset) weight^T) * (x_scale * weight_scale) + bias; exact integer sums; "
      "weight_sum are those of the rows of weight, for callers that have them");
  c.In("x", ir::Elem(DType::kI8), "..., k").MayBeEmpty();
  c.In("weight", ir::Elem(DType::kI8), "n, k").MayBeEmpty();
  DeclareScale(c, "x_scale", "tokens");
  DeclareScale(c, "weight_scale", "n");
  c.OptionalIn("bias", ir::Elem::Storage(), "n", -0.0).NoneByDefault().MayBeEmpty();
  c.KeywordOnly();
  DeclareOutDType(c);
  c.OptionalIn("x_offset", ir::Elem(DType::kI32), "1 | tokens, 1 | tokens", 0)
      .NoneByDefault()
      .MayBeEmpty();
  c.OptionalIn("weight_sum", ir::Elem(DType::kI32), "n", 0).NoneByDefault().MayBeEmpty();
  c.Out("y", ir::Elem::Storage(), "..., n");
  c.Function(ComputeInt8ScaledMm);
  return c;
}

}  // namespace tenon::ops::linear
