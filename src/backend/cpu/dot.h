// Products of rows in float32 with one fixed order of additions:
//
//   y[m, n] = (sum over k of a[m, k] * b[n, k]) * (row_scale[m] * column_scale[n]) + bias[m, n]
//
// The order depends on k alone: not on the numbers of rows, the threads, the instruction set, how
// the rows lie in memory, or which path below computes them. k is cut into blocks of kDotBlock; in
// a block, element k goes to virtual lane k % kDotLanes, each lane adds its products in ascending
// order to +0 with fused multiply-adds, then lanes j and j + 8 are added, then j and j + 4, 2, 1.
// The sums of the blocks are added in ascending order.
#pragma once

#include <cstdint>

#include "tenon/tensor.h"

namespace tenon::cpu {

inline constexpr int64_t kDotLanes = 16;
inline constexpr int64_t kDotBlock = 1024;
inline constexpr int64_t kDotScaleBlock = 128;  // elements along k that share a scale

// Rows of a matrix: f32, f16, bf16 or f8e4m3, of which `row_stride` or `stride` is 1.
struct DotOperand {
  const void* data = nullptr;
  DType dtype = DType::kF32;
  int64_t row_stride = 0;  // in elements
  int64_t stride = 1;      // along k
  // Element (row, k) is first multiplied with scale[row / rows_per_scale * scale_row_stride +
  // k / kDotScaleBlock * scale_stride], and rounded to float32. Null: with nothing. `stride` is 1.
  const float* scale = nullptr;
  int64_t scale_row_stride = 0;
  int64_t scale_stride = 0;
  int64_t rows_per_scale = 1;
};

// What follows the sums. The caller widens; a null pointer stands for ones or for no addend.
struct DotEpilogue {
  const float* row_scale = nullptr;     // [m]
  const float* column_scale = nullptr;  // [n]
  const float* bias = nullptr;          // [m or 1, n]
  int64_t bias_stride = 0;              // from row to row
};

struct DotResult {
  void* data = nullptr;  // [m, n], unit stride along n
  DType dtype = DType::kF32;
  int64_t row_stride = 0;
};

void DotProduct(int64_t m, int64_t n, int64_t k, const DotOperand& a, const DotOperand& b,
                const DotEpilogue& epilogue, const DotResult& y);

// The epilogue alone, of the columns [first, first + count) of row `row`.
void FinishDotRow(const float* sums, int64_t row, int64_t first, int64_t count,
                  const DotEpilogue& epilogue, const DotResult& y);

}  // namespace tenon::cpu
