#include "ops/registry.h"
#include "ops/rope/rope.h"

namespace tenon::ops::rope {

Contract split_qkv_tp_rmsnorm_rope() {
  Contract c("rope", "split_qkv_tp_rmsnorm_rope");
  c.Doc(
      "q | k | v = qkv; q and k: rms_norm over the whole row, whose heads are spread over the "
      "ranks of the group, then rotary_embedding per head; v: copied");
  c.In("qkv", ir::Elem::Storage(), "..., (num_heads + 2*num_kv_heads)*head_dim");
  DeclareCosSinCache(c);
  DeclarePositions(c);
  c.In("q_weight", ir::Elem::Param(), "num_heads*head_dim");
  c.In("k_weight", ir::Elem::Param(), "num_kv_heads*head_dim");
  c.Int("num_heads").Positive();
  c.Int("num_kv_heads").Positive();
  c.Int("head_dim").Positive();
  c.Float("eps", 1e-6).NonNegative();
  c.Text("group_name", "");
  c.KeywordOnly();
  c.Bool("is_neox", true);
  c.Require("2*half", Compare::kLe, "head_dim",
            "cos_sin_cache's last axis must not exceed head_dim");
  c.Out("q", ir::Elem::Storage(), "..., num_heads*head_dim");
  c.Out("k", ir::Elem::Storage(), "..., num_kv_heads*head_dim");
  c.Out("v", ir::Elem::Storage(), "..., num_kv_heads*head_dim");
  c.Composition();
  return c;
}

}  // namespace tenon::ops::rope
