#include "ops/registry.h"

namespace tenon::ops::comm {

Contract all_reduce() {
  Contract c("comm", "all_reduce");
  c.Doc("y = the sum of x over the ranks of the group, in their order");
  c.In("x", ir::Elem::Storage(), "...");
  c.Text("group_name");
  c.Out("y", ir::Elem::Storage(), "...");
  c.Composition();
  return c;
}

}  // namespace tenon::ops::comm
