#include "ops/activation/activation.h"
#include "ops/quant/quant.h"
#include "ops/registry.h"

namespace tenon::ops::quant {

Contract silu_and_mul_per_block_quant() {
  Contract c("quant", "silu_and_mul_per_block_quant");
  c.Doc("q, scale = per_token_group_quant_fp8(silu_and_mul(x))");
  c.In("x", ir::Elem::Storage(), "..., width=2*groups*group_size");
  c.Int("group_size", 128).Positive();
  c.KeywordOnly();
  c.Bool("scale_ue8m0", false);
  DeclareGroupResults(c);
  c.Body([](ops::Body& b) {
    const ir::Value h = activation::SiluAndMul(b.In("x"), {"hidden", "groups*group_size"});
    const Quantised q = PerGroup(h, b.Attr("scale_ue8m0"));
    b.Out("q", q.values);
    b.Out("scale", q.scale);
  });
  return c;
}

}  // namespace tenon::ops::quant
