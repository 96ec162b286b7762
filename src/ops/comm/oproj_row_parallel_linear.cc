#include "ops/registry.h"

namespace tenon::ops::comm {

Contract oproj_row_parallel_linear() {
  Contract c("comm", "oproj_row_parallel_linear");
  c.Doc(
      "linear of each rank's own tokens, whose columns are spread over the ranks: they are "
      "exchanged, multiplied, and the sums come back; the bias is that of rank 0");
  c.In("x", ir::Elem::Storage(), "rows, k*world_size").MayBeEmpty();
  c.In("weight", ir::Elem::Storage(), "n, k").MayBeEmpty();
  c.OptionalIn("bias", ir::Elem::Param(), "n", 0);
  c.Int("world_size").Positive();
  c.Text("group_name");
  c.Out("y", ir::Elem::Storage(), "rows, n");
  c.Composition();
  return c;
}

}  // namespace tenon::ops::comm
