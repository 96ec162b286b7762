#include "ops/registry.h"

namespace tenon::ops::comm {

Contract all_reduce_batch_invariant() {
  Contract c("comm", "all_reduce_batch_invariant");
  c.Doc(
      "y = the sum of x over the ranks of the group, in their order, however many rows there are");
  c.In("x", ir::Elem::Storage(), "...");
  c.Text("group_name");
  c.Out("y", ir::Elem::Storage(), "...");
  c.Composition();
  return c;
}

}  // namespace tenon::ops::comm
