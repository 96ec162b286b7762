// Computes  embedding_tp, lm_head_logits, lmhead_all_to_all: vocabularies spread over ranks
// Traffic   what the group moves, and one copy of it
// Mapping   the calling thread; look-ups run on all
// Numerics  sums of looked-up rows have one term that is not zero: bits are kept
// Limits    none
#include <algorithm>

#include "base/dtype.h"
#include "ops/composition.h"
#include "ops/strided.h"
#include "ops/structural.h"

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

namespace {

// logits [ranks*rows, words] -> y [rows, columns]: this rank's tokens and the first words of all.
void ExchangeLogits(Communicator& group, const Tensor& logits, const Tensor& y) {
  const int64_t words = logits.sizes[1];
  const int64_t rows = y.sizes[0];
  const int64_t columns = y.sizes[1];
  const Buffer received = Fresh(logits.dtype, {logits.sizes[0], words});
  AllToAll(group, logits, received.tensor());
  for (int rank = 0; rank < group.size(); ++rank) {
    const int64_t count = std::clamp<int64_t>(columns - rank * words, 0, words);
    if (count == 0) break;
    const Tensor part = Part(received.tensor(), 0, rank * rows, rows);
    CopyStrided(Part(part, 1, 0, count), Part(y, 1, rank * words, count));
  }
}

}  // namespace

void RunLmHeadAllToAll(const Resolved& call, std::span<const Tensor> outputs) {
  InGroup(call,
          [&](Communicator& group) { ExchangeLogits(group, call.inputs[0].tensor, outputs[0]); });
}

void RunLmHeadLogits(const Resolved& call, std::span<const Tensor> outputs) {
  Tensor hidden = call.FindInput("hidden_states")->tensor;
  const std::string& mode = WordOf(call, "mode");
  InGroup(call, [&](Communicator& group) {
    const bool exchanges = mode == "all_to_all";
    const int64_t ranks = exchanges ? group.size() : 1;
    const Buffer all = Fresh(hidden.dtype, {ranks * hidden.sizes[0], hidden.sizes[1]});
    if (exchanges) {
      AllGather(group, hidden, all.tensor(), 0);
      hidden = all.tensor();
    }
    const Argument arguments[] = {hidden, Given(call, "weight"), Given(call, "bias")};
    if (mode == "none") {
      Invoke("linear", arguments, outputs);
      return;
    }
    const Buffer own = Invoke("linear", arguments)[0];
    if (exchanges) {
      ExchangeLogits(group, own.tensor(), outputs[0]);
      return;
    }
    const int64_t words = own.tensor().sizes[1];
    const Buffer logits = Fresh(hidden.dtype, {hidden.sizes[0], group.size() * words});
    AllGather(group, own.tensor(), logits.tensor(), 1);
    CopyStrided(Part(logits.tensor(), 1, 0, outputs[0].sizes[1]), outputs[0]);
  });
}

}  // namespace tenon::ops::embedding
