#include "ops/registry.h"

namespace tenon::ops::comm {

Contract column_parallel_linear() {
  Contract c("comm", "column_parallel_linear");
  c.Doc(
      "y = linear of the rows of weight that this rank has; gather_output: of all ranks', side by "
      "side");
  c.In("x", ir::Elem::Storage(), "..., k").MayBeEmpty();
  c.In("weight", ir::Elem::Storage(), "n, k").MayBeEmpty();
  c.OptionalIn("bias", ir::Elem::Param(), "n", 0);
  c.Bool("gather_output").Sizes("gathers", {0, 1});
  c.Int("world_size").Positive();
  c.Text("group_name");
  c.Out("y", ir::Elem::Storage(), "..., n*(1 + gathers*(world_size - 1))");
  c.Composition();
  return c;
}

}  // namespace tenon::ops::comm
