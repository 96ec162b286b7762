// Kernels that are written by hand, by operator.
#pragma once

#include <span>

#include "ops/dispatch.h"

namespace tenon::ops {

namespace quant {
void RunDynamicScaledFp8Quant(const Resolved& call, std::span<const Tensor> outputs);
}

namespace embedding {
void LookUp(const Resolved& call, std::span<const Tensor> outputs);
}

namespace linear {
void RunBatchMatmulTranspose(const Resolved& call, std::span<const Tensor> outputs);
void RunGatedMlp(const Resolved& call, std::span<const Tensor> outputs);
void RunLinear(const Resolved& call, std::span<const Tensor> outputs);
void RunLinearAct(const Resolved& call, std::span<const Tensor> outputs);
void RunLinearActAndMul(const Resolved& call, std::span<const Tensor> outputs);
void RunLinearAdd(const Resolved& call, std::span<const Tensor> outputs);
void RunMatmul(const Resolved& call, std::span<const Tensor> outputs);
void RunNormGatedMlp(const Resolved& call, std::span<const Tensor> outputs);
void RunQkvLinear(const Resolved& call, std::span<const Tensor> outputs);
}  // namespace linear

// Those of a structural operator, the best first.
std::span<const Kernel> StructuralKernels(const Operator& op);

// What an operator without a body computes, by definition.
OperatorFunction FunctionOf(const Operator& op);

}  // namespace tenon::ops
