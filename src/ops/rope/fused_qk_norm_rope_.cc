#include "ops/norm/norm.h"
#include "ops/registry.h"
#include "ops/rope/rope.h"

namespace tenon::ops::rope {

Contract fused_qk_norm_rope_() {
  Contract c("rope", "fused_qk_norm_rope_");
  c.Doc("q | k | v = qkv; q and k, in place: rotary_embedding(rms_norm(.)) per head");
  c.In("qkv", ir::Elem::Storage(), "..., (num_heads_q + num_heads_k + num_heads_v)*head_dim")
      .As("..., heads=num_heads_q + num_heads_k + num_heads_v, head_dim");
  c.Int("num_heads_q").Positive();
  c.Int("num_heads_k").Positive();
  c.Int("num_heads_v").NonNegative();
  c.Int("head_dim").Positive();
  c.Float("eps").NonNegative();
  c.In("q_weight", ir::Elem::Param(), "head_dim");
  c.In("k_weight", ir::Elem::Param(), "head_dim");
  DeclareCosSinCache(c);
  c.Bool("is_neox").Static();
  c.In("position_ids", ir::Elem::Index(), "...");
  c.Require("2*half", Compare::kLe, "head_dim",
            "cos_sin_cache's last axis must not exceed head_dim");
  c.Out("out", ir::Elem::Storage(), "..., (num_heads_q + num_heads_k + num_heads_v)*head_dim")
      .As("..., heads=num_heads_q + num_heads_k + num_heads_v, head_dim");
  c.InPlaceOnly({{"out", "qkv"}});
  c.Body([](ops::Body& b) {
    const ir::Value qkv = b.In("qkv");
    const ir::Value eps = b.Attr("eps");
    const Rotation rotation = GatherRotation(b, "position_ids");
    const ir::Value q = Slice(qkv, "heads", 0, {"q_heads", "num_heads_q"});
    const ir::Value k = Slice(qkv, "heads", "num_heads_q", {"k_heads", "num_heads_k"});
    const ir::Value q_new = Rotate(norm::RmsNorm(q, eps, {b.In("q_weight"), {}}), rotation, 0);
    const ir::Value k_new = Rotate(norm::RmsNorm(k, eps, {b.In("k_weight"), {}}), rotation, 0);
    const int heads = qkv.type().FindAxis("heads");
    b.Out("out", WriteSlice(WriteSlice(qkv, q_new, heads, 0), k_new, heads, "num_heads_q"));
  });
  return c;
}

}  // namespace tenon::ops::rope
