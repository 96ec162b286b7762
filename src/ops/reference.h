// A call on the float64 interpreter: the oracle of every kernel. Takes any supported call; never
// chosen by dispatch.
#pragma once

#include <span>
#include <vector>

#include "ir/host_array.h"
#include "ops/resolve.h"

namespace tenon::ops {

// The outputs with the body's axes, `tokens` flattened; float values before their last rounding.
std::vector<ir::HostArray> ReferenceValues(const Resolved& call);

// Per output, what a body with a matrix product makes of magnitudes: the sums of |a||b| of its last
// product in place of that product's own, and magnitudes of everything that they meet. The error of
// a float32 sum is relative to them.
std::vector<ir::HostArray> ProductMagnitudes(const Resolved& call);

// Writes the outputs; `outputs` are those of OutputViews.
void RunReference(const Resolved& call, std::span<const Tensor> outputs);

}  // namespace tenon::ops
