#include "ops/registry.h"

namespace tenon::ops::comm {

Contract all_gather() {
  Contract c("comm", "all_gather");
  c.Doc("the x of all ranks of the group, one after another along dim");
  c.In("x", ir::Elem::Storage(), "..., size").MayBeEmpty();
  c.Int("dim").MovesLast("x");
  c.Int("world_size").Positive();
  c.Text("group_name");
  c.Out("y", ir::Elem::Storage(), "..., size*world_size");
  c.Composition();
  return c;
}

}  // namespace tenon::ops::comm
