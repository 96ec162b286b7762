#include "ops/quant/quant.h"
#include "ops/registry.h"

namespace tenon::ops::quant {

Contract quantize() {
  Contract c("quant", "quantize");
  c.Doc(
      "i8: q = clamp(round(x / scale) + offset, -128, 127); f8e4m3: q = clamp(x / scale, -448, "
      "448)");
  c.In("x", ir::Elem::Storage(), "..., hidden");
  DeclareScale(c);
  DeclareOffset(c);
  c.KeywordOnly();
  DeclareDType(c);
  c.Out("q", DType::kI8, "..., hidden").DTypeFrom("dtype");
  c.Body([](ops::Body& b) { b.Out("q", Static(b, b.In("x"))); });
  return c;
}

}  // namespace tenon::ops::quant
