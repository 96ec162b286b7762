#include "ops/activation/activation.h"
#include "ops/quant/quant.h"
#include "ops/registry.h"

namespace tenon::ops::quant {

Contract silu_and_mul_quant() {
  Contract c("quant", "silu_and_mul_quant");
  c.Doc("q = quantize(silu_and_mul(x), scale, offset)");
  c.In("x", ir::Elem::Storage(), "..., width=2*hidden");
  DeclareScale(c);
  DeclareOffset(c);
  c.KeywordOnly();
  DeclareDType(c);
  c.Out("q", DType::kI8, "..., hidden").DTypeFrom("dtype");
  c.Body([](ops::Body& b) {
    b.Out("q", Static(b, activation::SiluAndMul(b.In("x"), ir::NamedAxis("hidden"))));
  });
  return c;
}

}  // namespace tenon::ops::quant
