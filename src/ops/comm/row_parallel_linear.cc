#include "ops/registry.h"

namespace tenon::ops::comm {

Contract row_parallel_linear() {
  Contract c("comm", "row_parallel_linear");
  c.Doc(
      "the sum over the ranks of x weight^T, each with its columns of both; the bias is that of "
      "rank 0");
  c.In("x", ir::Elem::Storage(), "rows, k*(1 + whole*(world_size - 1))").MayBeEmpty();
  c.In("weight", ir::Elem::Storage(), "n, k").MayBeEmpty();
  c.OptionalIn("bias", ir::Elem::Param(), "n", 0);
  c.Bool("input_is_parallel").Sizes("whole", {1, 0});
  c.String("reduce", std::nullopt, {"all_reduce", "reduce_scatter", "none"})
      .Sizes("scatters", {0, 1, 0});
  c.Int("world_size").Positive();
  c.Text("group_name");
  c.Require("1 + scatters*(world_size - 1)", Compare::kDivides, "rows",
            "world_size must divide the rows of x for reduce_scatter");
  c.Out("y", ir::Elem::Storage(), "(1 - scatters)*rows + scatters*(rows//world_size), n");
  c.Composition();
  return c;
}

}  // namespace tenon::ops::comm
