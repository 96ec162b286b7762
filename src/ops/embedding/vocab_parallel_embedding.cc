#include "base/dtype.h"
#include "base/error.h"
#include "ops/embedding/shard.h"

namespace tenon::ops::embedding {
namespace {

void Compute(const Resolved& call, std::span<const Tensor> outputs) {
  const Shard shard(call);
  const Tensor& ids = call.inputs[0].view;
  const Tensor& weight = call.inputs[1].tensor;
  // Walks the leading axes of ids and y together.
  int64_t index[kMaxRank] = {};
  for (int64_t token = 0; token < call.sizes.at("tokens"); ++token) {
    int64_t from = 0;
    int64_t to = 0;
    for (int axis = 0; axis < ids.rank; ++axis) {
      from += index[axis] * ids.strides[axis];
      to += index[axis] * outputs[0].strides[axis];
    }
    const int64_t row = shard.RowOf(static_cast<int64_t>(LoadElement(ids.data, ids.dtype, from)));
    TENON_CHECK(row < weight.sizes[0],
                "{}: weight must have more than {} rows for input_ids, got {}", call.name(), row,
                weight.sizes[0]);
    for (int64_t i = 0; i < weight.sizes[1]; ++i) {
      const int64_t at = row * weight.strides[0] + i * weight.strides[1];
      const double value = row < 0 ? 0.0 : LoadElement(weight.data, weight.dtype, at);
      StoreElement(outputs[0].data, weight.dtype, to + i * outputs[0].stride(-1), value);
    }
    for (int axis = ids.rank - 1; axis >= 0 && ++index[axis] == ids.sizes[axis]; --axis) {
      index[axis] = 0;
    }
  }
}

}  // namespace

Contract vocab_parallel_embedding() {
  Contract c("embedding", "vocab_parallel_embedding");
  c.Doc(
      "the rows of weight for the ids of this shard: base vocabulary, its padding, then the added "
      "one; zeros for all other ids");
  c.In("input_ids", ir::Elem::Index(), "...");
  c.In("weight", ir::Elem::Storage(), "rows, hidden").OrFloat8();
  c.Int("org_vocab_start_index").NonNegative();
  c.Int("org_vocab_end_index").NonNegative();
  c.Int("num_org_vocab_padding").NonNegative();
  c.Int("added_vocab_start_index").NonNegative();
  c.Int("added_vocab_end_index").NonNegative();
  c.Out("y", ir::Elem::Storage(), "..., hidden");
  c.Function(Compute);
  return c;
}

}  // namespace tenon::ops::embedding
