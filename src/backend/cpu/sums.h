// Sums in float32 whose order of additions depends on the number of elements alone: that of
// row-inl.h, whichever way the elements lie in memory.
#pragma once

#include <cstdint>

#include "tenon/tensor.h"

namespace tenon::cpu {

inline constexpr int64_t kSumColumns = 128;  // at most, of one call

// The sum of `count` neighbours in memory: f32, f16 or bf16.
float RowSum(const void* x, DType dtype, int64_t count);

// The sums of columns that are neighbours in memory; `stride` elements from one element of a column
// to the next.
void ColumnSums(const void* x, DType dtype, int64_t count, int64_t stride, int64_t columns,
                float* sums);

}  // namespace tenon::cpu
