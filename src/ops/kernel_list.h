// The CPU kernels that the build generated, one entry per operator in the order of ops.def.
#pragma once

#include <span>

#include "backend/cpu/row_kernel.h"

namespace tenon::ops {

struct KernelListEntry {  // null for operators whose kernels are written by hand
  const cpu::RowKernel* kernels;
  const int* count;
};

std::span<const KernelListEntry> GeneratedKernels();

}  // namespace tenon::ops
