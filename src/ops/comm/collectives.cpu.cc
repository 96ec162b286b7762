// Computes  the collectives of include/tenon/comm.h on tensors, and norms of what they give
// Traffic   what the group moves; strided tensors are copied once
// Mapping   the calling thread; norms run on all
// Numerics  sums in float32 in the order of ranks, rounded once; the norm reads the rounded sum
// Limits    none
#include <cstring>

#include "base/dtype.h"
#include "ops/composition.h"
#include "ops/strided.h"
#include "ops/structural.h"

namespace tenon::ops::comm {

void RunAllReduce(const Resolved& call, std::span<const Tensor> outputs) {
  InGroup(call, [&](Communicator& group) { AllReduce(group, call.inputs[0].tensor, outputs[0]); });
}

void RunAllGather(const Resolved& call, std::span<const Tensor> outputs) {
  InGroup(call, [&](Communicator& group) {
    AllGather(group, call.inputs[0].tensor, AsGiven(call, outputs[0]), call.moved_axis);
  });
}

void RunReduceScatter(const Resolved& call, std::span<const Tensor> outputs) {
  InGroup(call, [&](Communicator& group) {
    ReduceScatter(group, call.inputs[0].tensor, AsGiven(call, outputs[0]), call.moved_axis);
  });
}

void RunAllToAll(const Resolved& call, std::span<const Tensor> outputs) {
  InGroup(call, [&](Communicator& group) {
    AllToAll(group, call.inputs[0].tensor, AsGiven(call, outputs[0]));
  });
}

namespace {

const std::vector<int64_t>& ShardSizes(const Resolved& call) {
  return std::get<std::vector<int64_t>>(call.attributes.at("shard_sizes"));
}

// Zeros like x, with so many rows.
Buffer ZeroRows(const Tensor& x, int64_t rows) {
  std::vector<int64_t> shape(x.shape().begin(), x.shape().end());
  shape[0] = rows;
  Buffer zeros = Fresh(x.dtype, shape);
  const int64_t bytes = zeros.tensor().numel() * ItemSize(x.dtype);
  if (bytes > 0) std::memset(zeros.tensor().data, 0, static_cast<size_t>(bytes));
  return zeros;
}

}  // namespace

void RunAllGatherUnpad(const Resolved& call, std::span<const Tensor> outputs) {
  const Tensor& x = call.inputs[0].tensor;
  const Tensor y = AsGiven(call, outputs[0]);
  const std::vector<int64_t>& sizes = ShardSizes(call);
  const int64_t padded_size = IntOf(call, "padded_size");
  const auto padded_rows = static_cast<int64_t>(sizes.size()) * padded_size;
  InGroup(call, [&](Communicator& group) {
    if (sizes.empty()) return AllGather(group, x, y, 0);
    const Buffer own = ZeroRows(x, padded_rows / group.size());
    CopyStrided(x, Part(own.tensor(), 0, 0, x.sizes[0]));
    const Buffer all = ZeroRows(x, padded_rows);
    AllGather(group, own.tensor(), all.tensor(), 0);
    int64_t at = 0;
    for (size_t s = 0; s < sizes.size(); ++s) {
      const auto begin = static_cast<int64_t>(s) * padded_size;
      CopyStrided(Part(all.tensor(), 0, begin, sizes[s]), Part(y, 0, at, sizes[s]));
      at += sizes[s];
    }
  });
}

void RunPadReduce(const Resolved& call, std::span<const Tensor> outputs) {
  const Tensor& x = call.inputs[0].tensor;
  const Tensor y = AsGiven(call, outputs[0]);
  const std::vector<int64_t>& sizes = ShardSizes(call);
  const int64_t padded_size = IntOf(call, "padded_size");
  const auto padded_rows = static_cast<int64_t>(sizes.size()) * padded_size;
  InGroup(call, [&](Communicator& group) {
    if (sizes.empty()) return ReduceScatter(group, x, y, 0);
    const Buffer padded = ZeroRows(x, padded_rows);
    int64_t at = 0;
    for (size_t s = 0; s < sizes.size(); ++s) {
      const auto begin = static_cast<int64_t>(s) * padded_size;
      CopyStrided(Part(x, 0, at, sizes[s]), Part(padded.tensor(), 0, begin, sizes[s]));
      at += sizes[s];
    }
    const Buffer own = ZeroRows(x, padded_rows / group.size());
    ReduceScatter(group, padded.tensor(), own.tensor(), 0);
    CopyStrided(Part(own.tensor(), 0, 0, y.sizes[0]), y);
  });
}

void RunAllReduceRmsNorm(const Resolved& call, std::span<const Tensor> outputs) {
  const Tensor& sum = outputs[1];
  RunAllReduce(call, {&sum, 1});
  const Argument arguments[] = {sum, Given(call, "weight"),          NumberOf(call, "eps"), {},
                                {},  NumberOf(call, "weight_offset")};
  Invoke("rms_norm", arguments, {outputs.data(), 1});
}

void RunAllReduceAddRmsNorm(const Resolved& call, std::span<const Tensor> outputs) {
  const Buffer sum = Fresh(call.storage, {outputs[0].shape().begin(), outputs[0].shape().end()});
  RunAllReduce(call, {&sum.tensor(), 1});
  const Argument arguments[] = {
      sum.tensor(), Given(call, "residual"),        Given(call, "weight"), NumberOf(call, "eps"),
      {},           NumberOf(call, "weight_offset")};
  Invoke("fused_add_rms_norm", arguments, outputs);
}

}  // namespace tenon::ops::comm
