#include "ops/registry.h"

namespace tenon::ops::comm {

Contract maybe_pad_and_reduce() {
  Contract c("comm", "maybe_pad_and_reduce");
  c.Doc(
      "reduce_scatter(x, 0) of shards padded to padded_size rows; where every rank has a shard the "
      "padding is cut off again; with no shard_sizes of x as it is");
  c.In("x", ir::Elem::Storage(), "..., rows").FirstLast().MayBeEmpty();
  c.IntList("shard_sizes").NonNegative().PerRank();
  c.Int("padded_size").NonNegative();
  c.Int("world_size").Positive();
  c.Text("group_name");
  c.Require("world_size", Compare::kDivides, "padded_size*shard_sizes_count",
            "world_size must divide the number of shard_sizes times padded_size");
  c.Require("shard_sizes_max", Compare::kLe, "padded_size",
            "shard_sizes must not exceed padded_size");
  c.Require("(1 - shard_sizes_empty)*rows", Compare::kEq, "shard_sizes_sum",
            "the rows of x must be the sum of shard_sizes");
  c.Require("1 + shard_sizes_empty*(world_size - 1)", Compare::kDivides, "rows",
            "world_size must divide the rows of x when there are no shard_sizes");
  c.Out("y", ir::Elem::Storage(),
        "..., shard_sizes_empty*(rows//world_size) + shard_sizes_own + "
        "(1 - shard_sizes_each)*(padded_size*shard_sizes_count//world_size)");
  c.Composition();
  return c;
}

}  // namespace tenon::ops::comm
