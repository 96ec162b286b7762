// Computes  embedding_tp and lmhead_all_to_all: a vocabulary whose rows are spread over ranks
// Traffic   what the group moves, and one copy of it
// Mapping   the calling thread; look-ups run on all
// Numerics  each sum has one term that is not zero: bits are kept
// Limits    none
#include "base/dtype.h"
#include "ops/comm/kernels.h"
#include "ops/composition.h"
#include "ops/strided.h"

namespace tenon::ops::embedding {

void RunEmbeddingTp(const Resolved& call, std::span<const Tensor> outputs) {
  const Tensor& ids = call.inputs[0].tensor;
  const Tensor& weight = call.inputs[1].tensor;
  const int64_t capacity = IntOf(call, "capacity");
  InGroup(call, [&](Communicator& group) {
    const Buffer padded = Fresh(ids.dtype, {capacity});
    std::memset(padded.tensor().data, 0, static_cast<size_t>(capacity * ItemSize(ids.dtype)));
    CopyStrided(ids, Part(padded.tensor(), 0, 0, ids.sizes[0]));
    const Buffer all = Fresh(ids.dtype, {group.size() * capacity});
    AllGather(group, padded.tensor(), all.tensor(), 0);
    std::vector<Argument> arguments = {all.tensor(), weight};
    const auto& shard = std::get<std::vector<int64_t>>(call.attributes.at("shard_indices"));
    arguments.insert(arguments.end(), shard.begin(), shard.begin() + 5);
    const std::vector<Buffer> rows = Invoke("vocab_parallel_embedding", arguments);
    const Buffer own = Fresh(weight.dtype, {capacity, weight.sizes[1]});
    ReduceScatter(group, rows[0].tensor(), own.tensor(), 0);
    CopyStrided(Part(own.tensor(), 0, 0, ids.sizes[0]), outputs[0]);
  });
}

void RunLmHeadAllToAll(const Resolved& call, std::span<const Tensor> outputs) {
  const Tensor& logits = call.inputs[0].tensor;
  const int64_t words = logits.sizes[1];
  InGroup(call, [&](Communicator& group) {
    const Buffer received = Fresh(logits.dtype, {logits.sizes[0], words});
    AllToAll(group, logits, received.tensor());
    const int64_t rows = outputs[0].sizes[0];
    for (int rank = 0; rank < group.size(); ++rank) {
      CopyStrided(Part(received.tensor(), 0, rank * rows, rows),
                  Part(outputs[0], 1, rank * words, words));
    }
  });
}

}  // namespace tenon::ops::embedding
