#include "ops/norm/norm.h"
#include "ops/registry.h"
#include "ops/rope/rope.h"

namespace tenon::ops::rope {

Contract split_qkv_rmsnorm_mrope() {
  Contract c("rope", "split_qkv_rmsnorm_mrope");
  c.Doc(
      "q | k | v = qkv, or (q | gate per head) | k | v with has_gate; q and k: mrope(rms_norm(.)) "
      "per head; gate and v: copied");
  c.In("qkv", ir::Elem::Storage(), "..., ((1 + gates)*num_heads + 2*num_kv_heads)*head_dim")
      .As("..., heads=(1 + gates)*num_heads + 2*num_kv_heads, head_dim");
  DeclareCosSinCache(c);
  DeclareSectionPositions(c);
  c.OptionalIn("q_weight", ir::Elem::Param(), "head_dim", 1.0);
  c.OptionalIn("k_weight", ir::Elem::Param(), "head_dim", 1.0);
  c.Int("num_heads").Positive();
  c.Int("num_kv_heads").Positive();
  c.Int("head_dim").Positive();
  DeclareSections(c);
  c.Float("eps", 1e-6).NonNegative();
  c.KeywordOnly();
  c.OptionalIn("q_bias", ir::Elem::Param(), "head_dim", -0.0).NoneByDefault();
  c.OptionalIn("k_bias", ir::Elem::Param(), "head_dim", -0.0).NoneByDefault();
  c.Bool("mrope_interleaved", false);
  c.Bool("has_gate", false).Static().Sizes("gates", {0, 1});
  c.Float("weight_offset", 0.0).ZeroWithout({"q_weight", "k_weight"});
  c.Require("2*half", Compare::kLe, "head_dim",
            "cos_sin_cache's last axis must not exceed head_dim");
  c.Out("q", ir::Elem::Storage(), "..., num_heads*head_dim").As("..., q_heads=num_heads, head_dim");
  c.Out("k", ir::Elem::Storage(), "..., num_kv_heads*head_dim")
      .As("..., kv_heads=num_kv_heads, head_dim");
  c.Out("v", ir::Elem::Storage(), "..., num_kv_heads*head_dim")
      .As("..., kv_heads=num_kv_heads, head_dim");
  c.Out("gate", ir::Elem::Storage(), "..., gates*num_heads*head_dim")
      .As("..., gate_heads=gates*num_heads, head_dim")
      .OnlyWith("has_gate");
  c.Body([](ops::Body& b) {
    const ir::Value qkv = b.In("qkv");
    const ir::Value eps = b.Attr("eps");
    const ir::Axis q_heads{"q_heads", "num_heads"};
    const ir::Axis kv_heads{"kv_heads", "num_kv_heads"};
    const bool has_gate = b.Flag("has_gate");
    const ir::Dim q_end = has_gate ? "2*num_heads" : "num_heads";
    ir::Value q = Slice(qkv, "heads", 0, {has_gate ? "parts" : "q_heads", q_end});
    if (has_gate) {
      const ir::Axis part{"part", 2};
      b.Out("gate", Pick(SplitAxis(q, "parts", {{"gate_heads", "num_heads"}, part}), "part", 1));
      q = Pick(SplitAxis(q, "parts", {q_heads, part}), "part", 0);
    }
    const ir::Value k = Slice(qkv, "heads", q_end, kv_heads);
    const Rotation rotation = GatherSections(b, /*is_neox=*/true);
    const ir::Value q_normal = norm::RmsNorm(q, eps, norm::OffsetAffine(b, "q_weight", "q_bias"));
    const ir::Value k_normal = norm::RmsNorm(k, eps, norm::OffsetAffine(b, "k_weight", "k_bias"));
    b.Out("q", Rotate(q_normal, rotation, 0));
    b.Out("k", Rotate(k_normal, rotation, 0));
    b.Out("v", Slice(qkv, "heads", q_end + "num_kv_heads", kv_heads));
  });
  return c;
}

}  // namespace tenon::ops::rope
