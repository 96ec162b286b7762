// Products of quantised operands: what their contracts share.
#pragma once

#include <span>

#include "ops/resolve.h"

namespace tenon::ops::linear {

// UsageError where the sum of products may not fit int32.
void CheckInt8Width(const Resolved& call);

// The references. w8a8_dynamic_linear's quantises as dynamic_scaled_int8_quant does.
void ComputeInt8ScaledMm(const Resolved& call, std::span<const Tensor> outputs);
void ComputeFp8ScaledMm(const Resolved& call, std::span<const Tensor> outputs);
void ComputeFp8BlockwiseScaledMm(const Resolved& call, std::span<const Tensor> outputs);
void ComputeW8a8DynamicLinear(const Resolved& call, std::span<const Tensor> outputs);

}  // namespace tenon::ops::linear
