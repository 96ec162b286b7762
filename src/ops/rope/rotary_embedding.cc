#include "ops/registry.h"
#include "ops/rope/rope.h"

namespace tenon::ops::rope {

Contract rotary_embedding() {
  Contract c("rope", "rotary_embedding");
  c.Doc("rotates the pairs of each head of query and key by the angles of their positions");
  DeclarePositions(c);
  c.In("query", ir::Elem::Storage(), "..., heads*head_size | ..., heads, head_size");
  c.OptionalIn("key", ir::Elem::Storage(), "..., kv_heads*head_size | ..., kv_heads, head_size", 0)
      .AbsentSize("kv_heads", 0);
  c.Int("head_size").Positive();
  DeclareCosSinCache(c);
  c.Bool("is_neox", true).Static();
  c.KeywordOnly();
  c.Int("rope_dim_offset", 0).NonNegative();
  c.Bool("inverse", false);
  c.Require("2*half + rope_dim_offset", Compare::kLe, "head_size",
            "cos_sin_cache's last axis plus rope_dim_offset must not exceed head_size");
  c.Out("query_out", ir::Elem::Storage(), "..., heads*head_size")
      .As("..., heads, head_size")
      .Like("query");
  c.Out("key_out", ir::Elem::Storage(), "..., kv_heads*head_size")
      .As("..., kv_heads, head_size")
      .Like("key");
  c.InPlace("rotary_embedding_", {{"query_out", "query"}, {"key_out", "key"}});
  c.Body([](ops::Body& b) {
    const Rotation rotation = Inverse(GatherRotation(b), b.Attr("inverse"));
    b.Out("query_out", Rotate(b.In("query"), rotation, "rope_dim_offset"));
    b.Out("key_out", Rotate(b.In("key"), rotation, "rope_dim_offset"));
  });
  return c;
}

}  // namespace tenon::ops::rope
