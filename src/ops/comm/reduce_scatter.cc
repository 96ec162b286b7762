#include "ops/registry.h"

namespace tenon::ops::comm {

Contract reduce_scatter() {
  Contract c("comm", "reduce_scatter");
  c.Doc("of the sum of x over the ranks of the group, the slice of this rank along dim");
  c.In("x", ir::Elem::Storage(), "..., size*world_size").MayBeEmpty();
  c.Int("dim").MovesLast("x");
  c.Int("world_size").Positive();
  c.Text("group_name");
  c.Out("y", ir::Elem::Storage(), "..., size");
  c.Composition();
  return c;
}

}  // namespace tenon::ops::comm
