// Kernels that are written by hand, by operator.
#pragma once

#include <span>

#include "ops/dispatch.h"

namespace tenon::ops {

namespace attention {
void RunQwen2DecoderLayer(const Resolved& call, std::span<const Tensor> outputs);
}

namespace comm {
void RunAllGather(const Resolved& call, std::span<const Tensor> outputs);
void RunAllGatherLinear(const Resolved& call, std::span<const Tensor> outputs);
void RunAllGatherUnpad(const Resolved& call, std::span<const Tensor> outputs);
void RunAllReduce(const Resolved& call, std::span<const Tensor> outputs);
void RunAllReduceAddRmsNorm(const Resolved& call, std::span<const Tensor> outputs);
void RunAllReduceRmsNorm(const Resolved& call, std::span<const Tensor> outputs);
void RunAllToAll(const Resolved& call, std::span<const Tensor> outputs);
void RunColumnParallelLinear(const Resolved& call, std::span<const Tensor> outputs);
void RunDsv4OProj(const Resolved& call, std::span<const Tensor> outputs);
void RunLinearAllReduceAddRmsNorm(const Resolved& call, std::span<const Tensor> outputs);
void RunOProjRowParallelLinear(const Resolved& call, std::span<const Tensor> outputs);
void RunPadReduce(const Resolved& call, std::span<const Tensor> outputs);
void RunReduceScatter(const Resolved& call, std::span<const Tensor> outputs);
void RunRowParallelLinear(const Resolved& call, std::span<const Tensor> outputs);
}  // namespace comm

namespace quant {
void RunDynamicScaledFp8Quant(const Resolved& call, std::span<const Tensor> outputs);
}

namespace embedding {
void LookUp(const Resolved& call, std::span<const Tensor> outputs);
void RunEmbeddingTp(const Resolved& call, std::span<const Tensor> outputs);
void RunLmHeadAllToAll(const Resolved& call, std::span<const Tensor> outputs);
void RunLmHeadLogits(const Resolved& call, std::span<const Tensor> outputs);
}  // namespace embedding

namespace linear {
void RunAddmmBatchInvariant(const Resolved& call, std::span<const Tensor> outputs);
void RunBatchInvariant(const Resolved& call, std::span<const Tensor> outputs);
void RunBatchMatmulTranspose(const Resolved& call, std::span<const Tensor> outputs);
void RunConv3d(const Resolved& call, std::span<const Tensor> outputs);
void RunFp8BlockwiseScaledMm(const Resolved& call, std::span<const Tensor> outputs);
void RunFp8ScaledMm(const Resolved& call, std::span<const Tensor> outputs);
void RunGatedMlp(const Resolved& call, std::span<const Tensor> outputs);
void RunInt8ScaledMm(const Resolved& call, std::span<const Tensor> outputs);
void RunLinear(const Resolved& call, std::span<const Tensor> outputs);
void RunLinearAct(const Resolved& call, std::span<const Tensor> outputs);
void RunLinearActAndMul(const Resolved& call, std::span<const Tensor> outputs);
void RunLinearAdd(const Resolved& call, std::span<const Tensor> outputs);
void RunMatmul(const Resolved& call, std::span<const Tensor> outputs);
void RunNormGatedMlp(const Resolved& call, std::span<const Tensor> outputs);
void RunSplitLinear(const Resolved& call, std::span<const Tensor> outputs);
void RunW8a8DynamicLinear(const Resolved& call, std::span<const Tensor> outputs);
void RunWeightPrefetch(const Resolved& call, std::span<const Tensor> outputs);
}  // namespace linear

namespace norm {
void RunMeanBatchInvariant(const Resolved& call, std::span<const Tensor> outputs);
}

namespace rope {
void RunSplitQkvTpRmsNormRope(const Resolved& call, std::span<const Tensor> outputs);
}

// Those of a structural operator, the best first.
std::span<const Kernel> StructuralKernels(const Operator& op);

// What an operator without a body computes, by definition.
OperatorFunction FunctionOf(const Operator& op);

}  // namespace tenon::ops
