// The kernels that the build generated from a contract's bodies, called with a resolved call.
#pragma once

#include <span>

#include "backend/cpu/row_kernel.h"
#include "backend/cpu/targets.h"
#include "ops/resolve.h"

namespace tenon::ops {

// The kernel of the call's variant.
const cpu::RowKernel& GeneratedKernel(const Resolved& call);

// Calls any kernel of the call's body, those that are compiled at run time included.
void RunGenerated(const cpu::RowKernel& kernel, cpu::Target target, const Resolved& call,
                  std::span<const Tensor> outputs);

}  // namespace tenon::ops
