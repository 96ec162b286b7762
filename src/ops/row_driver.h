// Calls generated row-wise kernels (backend/cpu/row_kernel.h): leading axes are collapsed, rows
// without unit stride are copied, parameters widened once, indices checked, rows shared by threads.
// Serves the library's kernels and those that `tenon fuse` compiles.
#pragma once

#include <limits>
#include <span>
#include <string_view>

#include "backend/cpu/row_kernel.h"
#include "backend/cpu/targets.h"
#include "tenon/tensor.h"

namespace tenon::ops {

// Arguments in the order of the kernel's tables.
struct RowArguments {
  // Views with the body's axes, where the row axis stands for `lead_rank` leading ones; null data:
  // an optional tensor that is not there. Sizes of the leading axes are equal in all of them.
  std::span<const Tensor> tensors;
  int lead_rank = 1;
  std::span<const int64_t> sizes;
  std::span<const float> scalars;
  DType storage = DType::kF32;
  int64_t rows = std::numeric_limits<int64_t>::max();  // only the first ones are computed
};

// UsageError, with the operator's name, for an index outside its table; nothing is written then.
void RunRowKernel(const cpu::RowKernel& kernel, cpu::Target target, const RowArguments& arguments);

}  // namespace tenon::ops
