// What the kernels of gemm.h share.
#pragma once

#include <string>

#include "backend/cpu/gemm.h"

namespace tenon::cpu {

// Row of B behind column `column` of C; `up` is the second one of a gate.
inline int64_t RowOfB(const Gemm& gemm, int64_t column, bool up) {
  if (gemm.gate == Gate::kInterleaved) return 2 * column + up;
  return column + (up ? gemm.n : 0);
}

inline const char* At(const MatrixView& view, DType dtype, int64_t batch, int64_t row,
                      int64_t column) {
  const int64_t item = dtype == DType::kF32 ? 4 : 2;
  return static_cast<const char*>(view.data) +
         (batch * view.batch + row * view.row + column * view.column) * item;
}

// Bias, activation, gate and residual for sums of row `row` and columns [column, column + count),
// rounded and stored. `up` has the second sums of a gate. count <= kFinishColumns; both are
// readable up to the next multiple of the vector length.
inline constexpr int64_t kFinishColumns = 64;
void FinishRow(const Gemm& gemm, int64_t batch, int64_t row, int64_t column, int64_t count,
               const float* sums, const float* up);

// What the skinny kernel keeps the sums of.
inline constexpr int64_t kMostSkinnyRows = 16;

void RunBf16(const Gemm& gemm);
std::string DeclinesBf16(const Gemm& gemm);
void RunBlocked(const Gemm& gemm);
std::string DeclinesBlocked(const Gemm& gemm);
void RunSkinny(const Gemm& gemm);
std::string DeclinesSkinny(const Gemm& gemm);

}  // namespace tenon::cpu
