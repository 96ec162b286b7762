#include "ops/linear/fixed_order.h"
#include "ops/linear/scaled_mm.h"

namespace tenon::ops::linear {

Contract fp8_blockwise_scaled_mm() {
  Contract c("linear", "fp8_blockwise_scaled_mm");
  c.Doc(
      "y = (x * x_scale) (weight * weight_scale)^T with a scale for every 128 columns of a row of "
      "x "
      "and for every 128 x 128 block of weight; sums in float32");
  c.In("x", ir::Elem(DType::kF8E4M3), "..., k").MayBeEmpty();
  c.In("weight", ir::Elem(DType::kF8E4M3), "n, k").MayBeEmpty();
  c.In("x_scale", ir::Elem(DType::kF32), "..., k//128").MayBeEmpty();
  c.In("weight_scale", ir::Elem(DType::kF32), "ceil(n, 128), ceil(k, 128)").MayBeEmpty();
  c.KeywordOnly();
  c.ScalarType("out_dtype", {"f32", "f16", "bf16"});
  c.Require("128", Compare::kDivides, "k", "x's last axis must be a multiple of 128");
  c.Out("y", DType::kF32, "..., n").DTypeFrom("out_dtype");
  c.Function(ComputeFp8BlockwiseScaledMm);
  return c;
}

}  // namespace tenon::ops::linear
