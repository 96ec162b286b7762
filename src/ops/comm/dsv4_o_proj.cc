#include "ops/registry.h"

namespace tenon::ops::comm {

Contract dsv4_o_proj() {
  Contract c("comm", "dsv4_o_proj");
  c.Doc(
      "heads are rotated back where there is a table, each group of them is multiplied by its "
      "wo_a, all of that by wo_b; summed over the ranks, which share the heads (token_exchange: "
      "each rank has all heads of its own tokens, which are exchanged)");
  c.In("o", ir::Elem::Storage(), "rows, heads, head_size").MayBeEmpty();
  c.In("wo_a", ir::Elem::Storage(), "groups, low_rank, width");
  c.In("wo_b", ir::Elem::Storage(), "n, groups*low_rank");
  c.OptionalIn("cos_sin_cache", ir::Elem::Param(), "max_position, 2*half", 0)
      .NoneByDefault()
      .AbsentSize("half", 0);
  c.OptionalIn("positions", ir::Elem::Index(), "rows", 0).NoneByDefault();
  c.Bool("token_exchange", false).Sizes("exchanges", {0, 1});
  c.Int("world_size", 1).Positive();
  c.Text("group_name", "");
  c.Require("2*half", Compare::kLe, "head_size",
            "cos_sin_cache's last axis must not exceed the size of a head of o");
  c.Require("heads*head_size", Compare::kEq, "groups*width*(1 + exchanges*(world_size - 1))",
            "the heads of o must be the groups of wo_a, with token_exchange those of all ranks");
  c.Out("y", ir::Elem::Storage(), "rows, n");
  c.Composition();
  return c;
}

}  // namespace tenon::ops::comm
