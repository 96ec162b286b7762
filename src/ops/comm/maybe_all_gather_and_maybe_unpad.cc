#include "ops/registry.h"

namespace tenon::ops::comm {

Contract maybe_all_gather_and_maybe_unpad() {
  Contract c("comm", "maybe_all_gather_and_maybe_unpad");
  c.Doc(
      "all_gather(x, 0) without the padding: the first shard_sizes[s] rows of each shard of "
      "padded_size "
      "rows; with no shard_sizes all rows");
  c.In("x", ir::Elem::Storage(), "..., rows").FirstLast().MayBeEmpty();
  c.IntList("shard_sizes").NonNegative();
  c.Int("padded_size").NonNegative();
  c.Int("world_size").Positive();
  c.Text("group_name");
  c.Require("world_size", Compare::kDivides, "padded_size*shard_sizes_count",
            "world_size must divide the number of shard_sizes times padded_size");
  c.Require("shard_sizes_max", Compare::kLe, "padded_size",
            "shard_sizes must not exceed padded_size");
  c.Require("(1 - shard_sizes_empty)*rows", Compare::kLe,
            "padded_size*shard_sizes_count//world_size",
            "the rows of x must not be more than this rank's part of the padded shards");
  c.Out("y", ir::Elem::Storage(), "..., rows*world_size*shard_sizes_empty + shard_sizes_sum");
  c.Composition();
  return c;
}

}  // namespace tenon::ops::comm
