// Computes  C = epilogue(A B^T) for few rows of A
// Traffic   reads B once, at the speed of memory; A stays in the caches as float32
// Mapping   columns over threads; a step multiplies up to eight rows of A with kColumns rows of B,
//           each sum in one vector whose lanes are added at the end
// Numerics  float32: one partial sum per lane, then their sum
// Limits    more rows than kMostSkinnyRows, and operands that are not contiguous along k
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/gemm_skinny.cc"
#include "backend/cpu/foreach_target.h"
#include "backend/cpu/gemm_parts.h"
#include "backend/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

// The sums of a step stay in registers: 24 of 32, or 8 of 16.
inline constexpr int kMostStepRows = HWY_TARGET <= HWY_AVX3 ? 8 : 4;
template <int kRows>
inline constexpr int kColumns = HWY_TARGET <= HWY_AVX3 ? (kRows == 8 ? 3 : 4)
                                                       : (kRows == 4 ? 2 : 4);

// sums[r * step + c] for kRows rows of A and `kCount` rows of B.
template <typename T, int kRows, int kCount>
HWY_INLINE void Dots(const float* HWY_RESTRICT a, int64_t pitch, const T* const* b, int64_t k,
                     float* HWY_RESTRICT sums, int64_t step) {
  VF sum[kRows][kCount];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int c = 0; c < kCount; ++c) sum[r][c] = hn::Zero(DF());
  }
  const auto lanes = static_cast<int64_t>(kLanes);
  int64_t i = 0;
  for (; i + lanes <= k; i += lanes) {
    VF w[kCount];
#pragma GCC unroll 8
    for (int c = 0; c < kCount; ++c) w[c] = LoadFull(b[c] + i);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const VF x = hn::LoadU(DF(), a + r * pitch + i);
#pragma GCC unroll 8
      for (int c = 0; c < kCount; ++c) sum[r][c] = hn::MulAdd(x, w[c], sum[r][c]);
    }
  }
  if (i < k) {
    const auto rest = static_cast<size_t>(k - i);
#pragma GCC unroll 8
    for (int c = 0; c < kCount; ++c) {
      const VF w = LoadFirst(b[c] + i, rest);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        sum[r][c] = hn::MulAdd(LoadFirst(a + r * pitch + i, rest), w, sum[r][c]);
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int c = 0; c < kCount; ++c) {
      sums[r * step + c] = hn::GetLane(hn::SumOfLanes(DF(), sum[r][c]));
    }
  }
}

template <typename T, int kRows>
HWY_INLINE void Columns(const float* a, int64_t pitch, const T* const* b, int64_t count, int64_t k,
                        float* sums, int64_t step) {
  int64_t c = 0;
  constexpr int kWide = kColumns<kRows>;
  for (; c + kWide <= count; c += kWide) {
    Dots<T, kRows, kWide>(a, pitch, b + c, k, sums + c, step);
  }
  for (; c < count; ++c) Dots<T, kRows, 1>(a, pitch, b + c, k, sums + c, step);
}

// sums[r * step + c] for all rows; b[c] are rows of B. A group of columns meets all rows of A while
// it is in the first two caches.
template <typename T>
HWY_FLATTEN void SkinnySums(const float* a, int64_t rows, int64_t pitch, const T* const* b,
                            int64_t count, int64_t k, float* sums, int64_t step) {
  constexpr int64_t kGroup = 12;
  for (int64_t c = 0; c < count; c += kGroup) {
    const int64_t here = HWY_MIN(kGroup, count - c);
    int64_t r = 0;
    const auto advance = [&](auto step_rows) HWY_ATTR {
      constexpr int kRows = decltype(step_rows)::value;
      for (; r + kRows <= rows; r += kRows) {
        Columns<T, kRows>(a + r * pitch, pitch, b + c, here, k, sums + r * step + c, step);
      }
    };
    if constexpr (kMostStepRows == 8) advance(std::integral_constant<int, 8>());
    advance(std::integral_constant<int, 4>());
    advance(std::integral_constant<int, 2>());
    advance(std::integral_constant<int, 1>());
  }
}

// Columns [begin, end) of C.
template <typename T>
void RunColumns(const Gemm& gemm, int64_t batch, int64_t begin, int64_t end, const float* a) {
  constexpr int64_t kBlock = 48;
  alignas(64) float sums[2][kMostSkinnyRows * kBlock];
  const T* rows[kBlock];
  const bool gated = gemm.gate != Gate::kNone;
  for (int64_t column = begin; column < end; column += kBlock) {
    const int64_t count = HWY_MIN(kBlock, end - column);
    for (int up = 0; up <= (gated ? 1 : 0); ++up) {
      for (int64_t c = 0; c < count; ++c) {
        rows[c] = reinterpret_cast<const T*>(
            At(gemm.b, gemm.dtype, batch, RowOfB(gemm, column + c, up != 0), 0));
      }
      SkinnySums<T>(a, gemm.m, gemm.k, rows, count, gemm.k, sums[up], kBlock);
    }
    for (int64_t row = 0; row < gemm.m; ++row) {
      FinishRow(gemm, batch, row, column, count, sums[0] + row * kBlock, sums[1] + row * kBlock);
    }
  }
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <fmt/format.h>

#include <algorithm>

#include "backend/cpu/parallel.h"
#include "backend/cpu/scratch.h"
#include "backend/cpu/targets.h"
#include "backend/cpu/widen.h"

namespace tenon::cpu {
namespace {

constexpr int64_t kElementsPerThread = 64 << 10;  // of B

using ColumnsFn = void(const Gemm&, int64_t, int64_t, int64_t, const float*);

ColumnsFn* RunColumnsOf(DType dtype) {
  static constexpr TargetTable<ColumnsFn> kTables[] = {
      {HWY_CHOOSE_AVX2(RunColumns<float>), HWY_CHOOSE_AVX3(RunColumns<float>)},
      {HWY_CHOOSE_AVX2(RunColumns<F16>), HWY_CHOOSE_AVX3(RunColumns<F16>)},
      {HWY_CHOOSE_AVX2(RunColumns<BF16>), HWY_CHOOSE_AVX3(RunColumns<BF16>)}};
  return kTables[static_cast<size_t>(dtype)].Chosen();
}

}  // namespace

std::string DeclinesSkinny(const Gemm& gemm) {
  if (gemm.m > kMostSkinnyRows)
    return fmt::format("{} rows are more than {}", gemm.m, kMostSkinnyRows);
  if (gemm.a.column != 1 && gemm.k > 1) return "the left operand is not contiguous along k";
  if (gemm.b.column != 1 && gemm.k > 1) return "the right operand is not contiguous along k";
  return "";
}

void RunSkinny(const Gemm& gemm) {
  const auto run = RunColumnsOf(gemm.dtype);
  float* const a = ScratchRow(0, static_cast<size_t>(gemm.batch * gemm.m * gemm.k));
  for (int64_t i = 0; i < gemm.batch * gemm.m; ++i) {
    Widen(At(gemm.a, gemm.dtype, i / gemm.m, i % gemm.m, 0), gemm.dtype, gemm.k, a + i * gemm.k);
  }
  const int64_t grain = std::max<int64_t>(1, kElementsPerThread / std::max<int64_t>(gemm.k, 1));
  ParallelFor(gemm.batch * gemm.n, grain, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t batch = begin / gemm.n;
      const int64_t stop = std::min(end, (batch + 1) * gemm.n);
      run(gemm, batch, begin - batch * gemm.n, stop - batch * gemm.n, a + batch * gemm.m * gemm.k);
      begin = stop;
    }
  });
}

}  // namespace tenon::cpu
#endif  // HWY_ONCE
