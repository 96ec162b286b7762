#include "ops/quant/quant.h"
#include "ops/registry.h"

namespace tenon::ops::quant {

Contract dynamic_scaled_fp8_quant() {
  Contract c("quant", "dynamic_scaled_fp8_quant");
  c.Doc("scale = max(max|x|, 1e-10) / 448 over the whole tensor; q = clamp(x / scale, -448, 448)");
  c.In("x", ir::Elem::Storage(), "..., hidden");
  c.Out("q", DType::kF8E4M3, "..., hidden");
  c.Out("scale", DType::kF32, "1").As("");
  c.Structural();
  c.Body([](ops::Body& b) {
    const ir::Value x = b.In("x");
    const ir::Value scale = ScaleOf(Amax(Amax(x, "hidden"), "tokens"), DType::kF8E4M3);
    b.Out("q", Cast(x / scale, DType::kF8E4M3));
    b.Out("scale", scale);
  });
  return c;
}

}  // namespace tenon::ops::quant
