#include "ops/registry.h"

namespace tenon::ops::quant {

Contract static_scaled_int8_quant() {
  Contract c("quant", "static_scaled_int8_quant");
  c.Doc("q = clamp(round(x / scale) + azp, -128, 127)");
  c.In("x", ir::Elem::Storage(), "..., hidden");
  c.In("scale", DType::kF32, "hidden | 1 |").As("hidden");
  c.OptionalIn("azp", DType::kI32, "1 |", 0.0).NoneByDefault().As("");
  c.Out("q", DType::kI8, "..., hidden");
  c.Body([](ops::Body& b) {
    b.Out("q", Cast(RoundInt(b.In("x") / b.In("scale")) + b.In("azp"), DType::kI8));
  });
  return c;
}

}  // namespace tenon::ops::quant
