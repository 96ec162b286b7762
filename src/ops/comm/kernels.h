// The operators that need a group of ranks.
#pragma once

#include <span>

#include "ops/resolve.h"

namespace tenon::ops::comm {

void RunAllReduce(const Resolved& call, std::span<const Tensor> outputs);
void RunAllGather(const Resolved& call, std::span<const Tensor> outputs);
void RunReduceScatter(const Resolved& call, std::span<const Tensor> outputs);
void RunAllToAll(const Resolved& call, std::span<const Tensor> outputs);
void RunAllReduceRmsNorm(const Resolved& call, std::span<const Tensor> outputs);
void RunAllReduceAddRmsNorm(const Resolved& call, std::span<const Tensor> outputs);
void RunColumnParallelLinear(const Resolved& call, std::span<const Tensor> outputs);
void RunAllGatherLinear(const Resolved& call, std::span<const Tensor> outputs);
void RunRowParallelLinear(const Resolved& call, std::span<const Tensor> outputs);
void RunOProjRowParallelLinear(const Resolved& call, std::span<const Tensor> outputs);
void RunLinearAllReduceAddRmsNorm(const Resolved& call, std::span<const Tensor> outputs);
void RunDsv4OProj(const Resolved& call, std::span<const Tensor> outputs);

}  // namespace tenon::ops::comm

namespace tenon::ops::embedding {

void RunEmbeddingTp(const Resolved& call, std::span<const Tensor> outputs);
void RunLmHeadLogits(const Resolved& call, std::span<const Tensor> outputs);
void RunLmHeadAllToAll(const Resolved& call, std::span<const Tensor> outputs);

}  // namespace tenon::ops::embedding

namespace tenon::ops::rope {

void RunSplitQkvTpRmsNormRope(const Resolved& call, std::span<const Tensor> outputs);

}  // namespace tenon::ops::rope
