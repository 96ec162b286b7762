#include "ops/quant/quant.h"
#include "ops/registry.h"

namespace tenon::ops::quant {

Contract static_scaled_fp8_quant() {
  Contract c("quant", "static_scaled_fp8_quant");
  c.Doc("q = clamp(x / scale, -448, 448)");
  c.In("x", ir::Elem::Storage(), "..., hidden");
  DeclareScale(c);
  c.Out("q", DType::kF8E4M3, "..., hidden");
  c.Body([](ops::Body& b) { b.Out("q", Cast(b.In("x") / b.In("scale"), DType::kF8E4M3)); });
  return c;
}

}  // namespace tenon::ops::quant
