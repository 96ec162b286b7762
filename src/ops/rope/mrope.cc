#include "ops/registry.h"
#include "ops/rope/rope.h"

namespace tenon::ops::rope {

Contract mrope() {
  Contract c("rope", "mrope");
  c.Doc("rotary_embedding with a position of time, height and width for each token");
  DeclareSectionPositions(c);
  c.In("query", ir::Elem::Storage(), "..., heads*head_size | ..., heads, head_size");
  c.OptionalIn("key", ir::Elem::Storage(), "..., kv_heads*head_size | ..., kv_heads, head_size", 0)
      .AbsentSize("kv_heads", 0);
  c.Int("head_size").Positive();
  DeclareCosSinCache(c);
  DeclareSections(c);
  c.Bool("is_neox", true).Static();
  c.Bool("mrope_interleaved", false);
  c.Require("2*half", Compare::kLe, "head_size",
            "cos_sin_cache's last axis must not exceed head_size");
  c.Out("query_out", ir::Elem::Storage(), "..., heads*head_size")
      .As("..., heads, head_size")
      .Like("query");
  c.Out("key_out", ir::Elem::Storage(), "..., kv_heads*head_size")
      .As("..., kv_heads, head_size")
      .Like("key");
  c.InPlace("mrope_", {{"query_out", "query"}, {"key_out", "key"}});
  c.Body([](ops::Body& b) {
    const Rotation rotation = GatherSections(b, b.Flag("is_neox"));
    b.Out("query_out", Rotate(b.In("query"), rotation, 0));
    b.Out("key_out", Rotate(b.In("key"), rotation, 0));
  });
  return c;
}

}  // namespace tenon::ops::rope
