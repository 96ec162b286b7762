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

// Those of a structural operator, the best first.
std::span<const Kernel> StructuralKernels(const Operator& op);

}  // namespace tenon::ops
