#include "ops/registry.h"

namespace tenon::ops::embedding {

Contract lmhead_all_to_all() {
  Contract c("embedding", "lmhead_all_to_all");
  c.Doc("logits of all tokens and this rank's words -> those of this rank's tokens and all words");
  c.In("logits", ir::Elem::Storage(), "rows*world_size, words").MayBeEmpty();
  c.Int("world_size").Positive();
  c.Text("group_name");
  c.Out("y", ir::Elem::Storage(), "rows, words*world_size");
  c.Composition();
  return c;
}

}  // namespace tenon::ops::embedding
