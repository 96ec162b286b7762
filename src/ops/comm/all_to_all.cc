#include "ops/registry.h"

namespace tenon::ops::comm {

Contract all_to_all() {
  Contract c("comm", "all_to_all");
  c.Doc("block j of the first axis goes to rank j; the blocks received, one after another");
  c.In("x", ir::Elem::Storage(), "..., rows*world_size").FirstLast().MayBeEmpty();
  c.Int("world_size").Positive();
  c.Text("group_name");
  c.Out("y", ir::Elem::Storage(), "..., rows*world_size");
  c.Composition();
  return c;
}

}  // namespace tenon::ops::comm
