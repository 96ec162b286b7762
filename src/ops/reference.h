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

// Per output, what a body with a matrix product makes of magnitudes: the sums of |a||b| in place of
// the products', and magnitudes of everything that they meet. The error of float32 sums is relative
// to `of_all`, that of what is stored for the last product to `of_last`, where only that one is
// replaced.
struct Magnitudes {
  std::vector<ir::HostArray> of_all;
  std::vector<ir::HostArray> of_last;
};
Magnitudes ProductMagnitudes(const Resolved& call);

// Writes the outputs; `outputs` are those of OutputViews.
void RunReference(const Resolved& call, std::span<const Tensor> outputs);

}  // namespace tenon::ops
