#include "ops/norm/norm.h"
#include "ops/registry.h"
#include "ops/rope/rope.h"

namespace tenon::ops::rope {

Contract rms_norm_rope() {
  Contract c("rope", "rms_norm_rope");
  c.Doc("y = rotary_embedding(rms_norm(x)) per head");
  c.In("x", ir::Elem::Storage(), "..., heads, head_size");
  c.OptionalIn("weight", ir::Elem::Param(), "head_size", 1.0);
  DeclareCosSinCache(c);
  DeclarePositions(c);
  c.Float("eps", 1e-6).NonNegative();
  c.Bool("is_neox", true).Static();
  c.KeywordOnly();
  c.Int("rope_dim_offset", 0).NonNegative();
  c.Float("weight_offset", 0.0).ZeroWithout({"weight"});
  c.Require("2*half + rope_dim_offset", Compare::kLe, "head_size",
            "cos_sin_cache's last axis plus rope_dim_offset must not exceed x's last axis");
  c.Out("y", ir::Elem::Storage(), "..., heads, head_size");
  c.Body([](ops::Body& b) {
    const ir::Value n =
        norm::RmsNorm(b.In("x"), b.Attr("eps"), norm::OffsetAffine(b, "weight", ""));
    b.Out("y", Rotate(n, GatherRotation(b), "rope_dim_offset"));
  });
  return c;
}

}  // namespace tenon::ops::rope
