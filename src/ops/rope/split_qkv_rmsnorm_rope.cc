#include "ops/norm/norm.h"
#include "ops/registry.h"
#include "ops/rope/rope.h"

namespace tenon::ops::rope {

Contract split_qkv_rmsnorm_rope() {
  Contract c("rope", "split_qkv_rmsnorm_rope");
  c.Doc("q | k | v = qkv; q and k: rotary_embedding(rms_norm(.)) per head; v: copied");
  c.In("qkv", ir::Elem::Storage(), "..., (num_heads + 2*num_kv_heads)*head_dim")
      .As("..., heads=num_heads + 2*num_kv_heads, head_dim");
  DeclareCosSinCache(c);
  DeclarePositions(c);
  c.OptionalIn("q_weight", ir::Elem::Param(), "head_dim", 1.0);
  c.OptionalIn("k_weight", ir::Elem::Param(), "head_dim", 1.0);
  c.Int("num_heads").Positive();
  c.Int("num_kv_heads").Positive();
  c.Int("head_dim").Positive();
  c.Float("eps", 1e-6).NonNegative();
  c.KeywordOnly();
  c.OptionalIn("q_bias", ir::Elem::Param(), "head_dim", -0.0).NoneByDefault();
  c.OptionalIn("k_bias", ir::Elem::Param(), "head_dim", -0.0).NoneByDefault();
  c.Bool("is_neox", true).Static();
  c.Float("weight_offset", 0.0).ZeroWithout({"q_weight", "k_weight"});
  c.Require("2*half", Compare::kLe, "head_dim",
            "cos_sin_cache's last axis must not exceed head_dim");
  c.Out("q", ir::Elem::Storage(), "..., num_heads*head_dim").As("..., q_heads=num_heads, head_dim");
  c.Out("k", ir::Elem::Storage(), "..., num_kv_heads*head_dim")
      .As("..., kv_heads=num_kv_heads, head_dim");
  c.Out("v", ir::Elem::Storage(), "..., num_kv_heads*head_dim")
      .As("..., kv_heads=num_kv_heads, head_dim");
  c.Body([](ops::Body& b) {
    const ir::Value qkv = b.In("qkv");
    const ir::Axis kv_heads{"kv_heads", "num_kv_heads"};
    const ir::Value q = Slice(qkv, "heads", 0, {"q_heads", "num_heads"});
    const ir::Value k = Slice(qkv, "heads", "num_heads", kv_heads);
    const ir::Value eps = b.Attr("eps");
    const Rotation rotation = GatherRotation(b);
    const ir::Value q_normal = norm::RmsNorm(q, eps, norm::OffsetAffine(b, "q_weight", "q_bias"));
    const ir::Value k_normal = norm::RmsNorm(k, eps, norm::OffsetAffine(b, "k_weight", "k_bias"));
    b.Out("q", Rotate(q_normal, rotation, 0));
    b.Out("k", Rotate(k_normal, rotation, 0));
    b.Out("v", Slice(qkv, "heads", "num_heads + num_kv_heads", kv_heads));
  });
  return c;
}

}  // namespace tenon::ops::rope
