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

// Writes the outputs; `outputs` are those of OutputViews.
void RunReference(const Resolved& call, std::span<const Tensor> outputs);

}  // namespace tenon::ops
