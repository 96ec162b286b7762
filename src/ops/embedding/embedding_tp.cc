#include "ops/registry.h"

namespace tenon::ops::embedding {

Contract embedding_tp() {
  Contract c("embedding", "embedding_tp");
  c.Doc(
      "the rows of this rank's ids, of a weight whose rows are spread over the ranks; each rank "
      "has ids of its own, at most `capacity` of them");
  c.In("input_ids", ir::Elem::Index(), "ids").MayBeEmpty();
  c.In("weight", ir::Elem::Storage(), "rows, hidden");
  // As vocab_shard_indices gives them: org_start, org_end, num_org_padding, added_start, added_end,
  // rows_per_rank.
  c.IntList("shard_indices", 6).NonNegative();
  c.Int("capacity").Positive();
  c.Int("world_size").Positive();
  c.Text("group_name");
  c.Require("ids", Compare::kLe, "capacity", "input_ids must not be more than capacity");
  c.Out("y", ir::Elem::Storage(), "ids, hidden");
  c.Composition();
  return c;
}

}  // namespace tenon::ops::embedding
