#include "ops/quant/quant.h"
#include "ops/registry.h"

namespace tenon::ops::quant {

Contract dynamic_scaled_int8_quant() {
  Contract c("quant", "dynamic_scaled_int8_quant");
  c.Doc("per row: scale = max(max|x|, 1e-10) / 127; q = round(x / scale)");
  c.In("x", ir::Elem::Storage(), "..., hidden");
  c.Out("q", DType::kI8, "..., hidden");
  c.Out("scale", DType::kF32, "..., 1").As("...");
  c.Body([](ops::Body& b) {
    const Quantised q = PerToken(b.In("x"), DType::kI8);
    b.Out("q", q.values);
    b.Out("scale", q.scale);
  });
  return c;
}

}  // namespace tenon::ops::quant
