#include "ops/registry.h"

namespace tenon::ops::comm {

Contract all_gather_linear() {
  Contract c("comm", "all_gather_linear");
  c.Doc("y = linear(all_gather(x, 0)), with the rows of weight that this rank has");
  c.In("x", ir::Elem::Storage(), "rows, k").MayBeEmpty();
  c.In("weight", ir::Elem::Storage(), "n, k").MayBeEmpty();
  c.OptionalIn("bias", ir::Elem::Param(), "n", 0);
  c.Int("world_size").Positive();
  c.Text("group_name");
  c.Out("y", ir::Elem::Storage(), "rows*world_size, n");
  c.Composition();
  return c;
}

}  // namespace tenon::ops::comm
