#include <algorithm>

#include "base/error.h"
#include "ops/resolve.h"

namespace tenon::ops::embedding {
namespace {

void Compute(const Resolved& call, std::span<const Tensor> outputs) {
  const int64_t num = call.sizes.at("num_embeddings");
  const int64_t org = call.sizes.at("org_num_embeddings");
  const int64_t padding = call.sizes.at("padding_size");
  const int64_t rank = call.sizes.at("rank");
  const int64_t ranks = call.sizes.at("world_size");
  TENON_CHECK(rank < ranks, "{}: rank must be in [0, {}) with world_size = {}, got {}", call.name(),
              ranks, ranks, rank);
  const auto padded = [&](int64_t n) { return (n + padding - 1) / padding * padding; };
  const int64_t org_padded = padded(org);
  const int64_t all_padded = padded(org_padded + num - org);
  TENON_CHECK(org_padded % ranks == 0 && all_padded % ranks == 0,
              "{}: world_size must divide the padded vocabulary, {} rows of it original, got {}",
              call.name(), org_padded, ranks);
  const int64_t org_rows = org_padded / ranks;
  const int64_t added_rows = (all_padded - org_padded) / ranks;
  const int64_t org_start = std::min(rank * org_rows, org);
  const int64_t org_end = std::min((rank + 1) * org_rows, org);
  int64_t* const indices = outputs[0].ptr<int64_t>();
  indices[0] = org_start;
  indices[1] = org_end;
  indices[2] = org_rows - (org_end - org_start);
  indices[3] = std::min(org + rank * added_rows, num);
  indices[4] = std::min(org + (rank + 1) * added_rows, num);
  indices[5] = all_padded / ranks;
}

}  // namespace

Contract vocab_shard_indices() {
  Contract c("embedding", "vocab_shard_indices");
  c.Doc(
      "[org_start, org_end, num_org_padding, added_start, added_end, rows_per_rank] of a rank's "
      "part "
      "of a vocabulary, original and added rows each padded to a multiple of padding_size");
  c.Int("num_embeddings").NonNegative();
  c.Int("org_num_embeddings").NonNegative();
  c.Int("padding_size").Positive();
  c.Int("rank").NonNegative();
  c.Int("world_size").Positive();
  c.Require("org_num_embeddings", Compare::kLe, "num_embeddings",
            "org_num_embeddings must not exceed num_embeddings");
  c.Out("indices", DType::kI64, "6");
  c.ResultIs(ResultKind::kIntList);
  c.Function(Compute);
  return c;
}

}  // namespace tenon::ops::embedding
