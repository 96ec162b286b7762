// Computes  the collectives of include/tenon/comm.h on tensors, and norms of what they give
// Traffic   what the group moves; strided tensors are copied once
// Mapping   the calling thread; norms run on all
// Numerics  sums in float32 in the order of ranks, rounded once; the norm reads the rounded sum
// Limits    none
#include "ops/composition.h"
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
