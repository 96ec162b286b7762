#include "ops/registry.h"
#include "ops/rope/rope.h"

namespace tenon::ops::rope {

Contract apply_rotary_emb() {
  Contract c("rope", "apply_rotary_emb");
  c.Doc("rotates the pairs of each head of x by the angles given for its token");
  c.In("x", ir::Elem::Storage(), "..., heads, head_size");
  c.In("cos", ir::Elem::Param(), "..., half").Broadcasts();
  c.In("sin", ir::Elem::Param(), "..., half").Broadcasts();
  c.Bool("is_neox", true).Static();
  c.KeywordOnly();
  c.Int("rope_dim_offset", 0).NonNegative();
  c.Bool("inverse", false);
  c.Require("2*half + rope_dim_offset", Compare::kLe, "head_size",
            "twice cos's last axis plus rope_dim_offset must not exceed x's last axis");
  c.Out("y", ir::Elem::Storage(), "..., heads, head_size");
  c.InPlace("apply_rotary_emb_", {{"y", "x"}});
  c.Body([](ops::Body& b) {
    const Rotation rotation{b.In("cos"), b.In("sin"), b.Flag("is_neox")};
    b.Out("y", Rotate(b.In("x"), Inverse(rotation, b.Attr("inverse")), "rope_dim_offset"));
  });
  return c;
}

}  // namespace tenon::ops::rope
