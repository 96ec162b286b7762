#include <limits>

#include "ops/quant/quant.h"
#include "ops/registry.h"

namespace tenon::ops::quant {

Contract dynamic_per_token_scaled_fp8_quant() {
  Contract c("quant", "dynamic_per_token_scaled_fp8_quant");
  c.Doc(
      "per row: scale = max(min(max|x|, scale_ub), 1e-10) / 448; q = clamp(x / scale, -448, 448)");
  c.In("x", ir::Elem::Storage(), "..., hidden");
  c.OptionalIn("scale_ub", DType::kF32, "1 |", std::numeric_limits<double>::infinity())
      .NoneByDefault()
      .As("");
  c.Out("q", DType::kF8E4M3, "..., hidden");
  c.Out("scale", DType::kF32, "..., 1").As("...");
  c.Body([](ops::Body& b) {
    const ir::Value x = b.In("x");
    const ir::Value scale = ScaleOf(Min(Amax(x, "hidden"), b.In("scale_ub")), DType::kF8E4M3);
    b.Out("q", Cast(x / scale, DType::kF8E4M3));
    b.Out("scale", scale);
  });
  return c;
}

}  // namespace tenon::ops::quant
