// Computes  products of rows in the order of dot.h
// Traffic   a once per 256 of its rows, widened; b once per 256 rows of a; y once
// Mapping   48 rows of b over threads; in a block of 1024 along k, tiles of 4 x 6 results (2 x 3
//           with AVX2), each in 16 lanes; b's block is widened into L2 first
// Numerics  float32, fused multiply-adds; one rounding where y is narrower
// Limits    none
#include "backend/cpu/dot.h"

#include "base/dtype.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/dot.cc"
#include "backend/cpu/foreach_target.h"
#include "backend/cpu/row-inl.h"

#ifndef TENON_BACKEND_CPU_DOT_ONCE_
#define TENON_BACKEND_CPU_DOT_ONCE_
namespace tenon::cpu {
namespace {

constexpr int64_t kPanelRows = 48;      // of b: with a block along k, 192 KiB of L2
constexpr int64_t kRowChunk = 256;      // of a
constexpr int64_t kDirectRows = 16;     // of a: for more, b is copied even where it is f32
constexpr int64_t kTileRowsMax = 4;     // rows of a in a tile, of all targets
constexpr int64_t kTileColumnsMax = 6;  // rows of b
enum ScratchSlot { kPanelSlot, kSumSlot, kRowSlot };

int64_t Padded(int64_t k) { return (k + kDotLanes - 1) / kDotLanes * kDotLanes; }

// Rows of float32, padded with zeros to whole lanes.
struct FloatRows {
  const float* data;
  int64_t stride;
};

// The columns [first, first + count) of all rows of one chunk of a.
struct DotTask {
  int64_t m, k;
  FloatRows a;
  int64_t first_row;  // of the chunk, within y
  const DotOperand* b;
  int64_t first, count;
  const DotEpilogue* epilogue;
  const DotResult* y;
};

}  // namespace
}  // namespace tenon::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

// A block along k of some rows of an operand as float32, padded to whole lanes.
template <typename T>
HWY_FLATTEN void WidenUnit(const DotOperand& from, int64_t row, int64_t rows, int64_t k0,
                           int64_t count, float* to, int64_t to_stride) {
  for (int64_t r = 0; r < rows; ++r, to += to_stride) {
    const T* const in = static_cast<const T*>(from.data) + (row + r) * from.row_stride + k0;
    if (from.scale == nullptr) {
      ForEachChunk(static_cast<size_t>(count), [&](auto c) HWY_ATTR { Store(c, Load(c, in), to); });
    } else {
      const float* const scale = from.scale +
                                 (row + r) / from.rows_per_scale * from.scale_row_stride +
                                 k0 / kDotScaleBlock * from.scale_stride;
      ForEachChunk(static_cast<size_t>(count), [&](auto c) HWY_ATTR {
        const auto block = static_cast<int64_t>(c.index) / kDotScaleBlock;
        Store(c, hn::Mul(Load(c, in), hn::Set(DF(), scale[block * from.scale_stride])), to);
      });
    }
    for (int64_t k = count; k < Padded(count); ++k) to[k] = 0;
  }
}

// The same where the rows are neighbours in memory.
template <typename T>
HWY_FLATTEN void WidenTransposed(const DotOperand& from, int64_t row, int64_t rows, int64_t k0,
                                 int64_t count, float* to, int64_t to_stride) {
  constexpr auto kTile = static_cast<int64_t>(kLanes);
  alignas(64) float tile[kLanes * kLanes];
  for (int64_t r = 0; r < rows; r += kTile) {
    const int64_t tile_rows = HWY_MIN(kTile, rows - r);
    for (int64_t k = 0; k < Padded(count); k += kTile) {
      for (int64_t i = 0; i < kTile; ++i) {
        VF v = hn::Zero(DF());
        if (k + i < count) {
          v = LoadFirst(static_cast<const T*>(from.data) + row + r + (k0 + k + i) * from.stride,
                        static_cast<size_t>(tile_rows));
        }
        hn::Store(v, DF(), tile + i * kTile);
      }
      for (int64_t j = 0; j < tile_rows; ++j) {
        float* const out = to + (r + j) * to_stride + k;
        for (int64_t i = 0; i < kTile; ++i) out[i] = tile[i * kTile + j];
      }
    }
  }
}

void WidenRows(const DotOperand& from, int64_t row, int64_t rows, int64_t k0, int64_t count,
               float* to, int64_t to_stride) {
  VisitDtype(from.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_class_v<T> || std::is_same_v<T, float>) {
      if (from.stride == 1) {
        WidenUnit<T>(from, row, rows, k0, count, to, to_stride);
      } else {
        WidenTransposed<T>(from, row, rows, k0, count, to, to_stride);
      }
    }
  });
}

// ---- Tiles

inline constexpr size_t kTileRows = kLanes == 16 ? 4 : 2;
inline constexpr size_t kTileColumns = kLanes == 16 ? 6 : 3;
inline constexpr size_t kParts = kDotLanes / kLanes;  // vectors of one result
static_assert(kTileRows <= kTileRowsMax && kTileColumns <= kTileColumnsMax);

using V4 = hn::Vec<hn::FixedTag<float, 4>>;

// Lanes j + 8 and j + 4 are added to lane j.
template <size_t result, size_t count>
HWY_INLINE V4 Fold(const VF (&sums)[count]) {
#if HWY_TARGET <= HWY_AVX3
  const hn::Half<DF> dh;
  const auto v8 = hn::Add(hn::LowerHalf(dh, sums[result]), hn::UpperHalf(dh, sums[result]));
#else
  const DF dh;
  const VF v8 = hn::Add(sums[2 * result], sums[2 * result + 1]);
#endif
  const hn::Half<decltype(dh)> dq;
  return hn::Add(hn::LowerHalf(dq, v8), hn::UpperHalf(dq, v8));
}

// Results [4 * group, 4 * group + 4), those beyond the last one without meaning.
template <size_t group, size_t count>
HWY_INLINE void StoreTotals(const VF (&sums)[count], float* totals) {
  constexpr size_t kLast = count / kParts - 1;
  const __m128 v0 = Fold<HWY_MIN(4 * group, kLast)>(sums).raw;
  const __m128 v1 = Fold<HWY_MIN(4 * group + 1, kLast)>(sums).raw;
  const __m128 v2 = Fold<HWY_MIN(4 * group + 2, kLast)>(sums).raw;
  const __m128 v3 = Fold<HWY_MIN(4 * group + 3, kLast)>(sums).raw;
  const __m128 low = _mm_add_ps(_mm_unpacklo_ps(v0, v1), _mm_unpackhi_ps(v0, v1));
  const __m128 high = _mm_add_ps(_mm_unpacklo_ps(v2, v3), _mm_unpackhi_ps(v2, v3));
  _mm_storeu_ps(totals + 4 * group, _mm_add_ps(_mm_movelh_ps(low, high), _mm_movehl_ps(high, low)));
}

// totals[i * columns + j] = sum over a block of a[i][k] * b[j][k]; `sum` counts vectors.
template <size_t rows, size_t columns, size_t... sum, size_t... group>
HWY_INLINE void Tile(const float* const* a, const float* const* b, int64_t count, float* totals,
                     std::index_sequence<sum...>, std::index_sequence<group...>) {
  VF sums[sizeof...(sum)] = {((void)sum, hn::Zero(DF()))...};
  const DF d;
  for (int64_t k = 0; k < count; k += kDotLanes) {
    ((sums[sum] = hn::MulAdd(hn::LoadU(d, a[sum / kParts / columns] + k + sum % kParts * kLanes),
                             hn::LoadU(d, b[sum / kParts % columns] + k + sum % kParts * kLanes),
                             sums[sum])),
     ...);
  }
  (StoreTotals<group>(sums, totals), ...);
}

template <size_t rows>
HWY_FLATTEN HWY_NOINLINE void TileOf(const float* const* a, const float* const* b, int64_t count,
                                     float* totals) {
  // Pointers in registers: the compiler would read them again after each load.
  const float* a_rows[rows];
  const float* b_rows[kTileColumns];
  for (size_t i = 0; i < rows; ++i) a_rows[i] = a[i];
  for (size_t j = 0; j < kTileColumns; ++j) b_rows[j] = b[j];
  constexpr size_t kResults = rows * kTileColumns;
  Tile<rows, kTileColumns>(a_rows, b_rows, count, totals,
                           std::make_index_sequence<kResults * kParts>(),
                           std::make_index_sequence<(kResults + 3) / 4>());
}

// sums[row, column] of one block along k, added to what is there unless it is the first.
template <size_t rows>
void AddTiles(const DotTask& task, int64_t k0, int64_t count, const FloatRows& b, bool first,
              float* sums) {
  const float* a_rows[rows];
  const float* b_rows[kTileColumns];
  alignas(64) float totals[kTileRowsMax * kTileColumnsMax + 4];
  for (int64_t n = 0; n < task.count; n += kTileColumns) {
    for (size_t j = 0; j < kTileColumns; ++j) {
      b_rows[j] = b.data + HWY_MIN(n + static_cast<int64_t>(j), task.count - 1) * b.stride;
    }
    for (int64_t m = 0; m < task.m; m += rows) {
      for (size_t i = 0; i < rows; ++i) {
        a_rows[i] =
            task.a.data + HWY_MIN(m + static_cast<int64_t>(i), task.m - 1) * task.a.stride + k0;
      }
      TileOf<rows>(a_rows, b_rows, Padded(count), totals);
      const int64_t num_rows = HWY_MIN(static_cast<int64_t>(rows), task.m - m);
      const int64_t num_columns = HWY_MIN(static_cast<int64_t>(kTileColumns), task.count - n);
      for (int64_t i = 0; i < num_rows; ++i) {
        float* const to = sums + (m + i) * kPanelRows + n;
        const float* const from = totals + i * static_cast<int64_t>(kTileColumns);
        for (int64_t j = 0; j < num_columns; ++j) to[j] = first ? from[j] : to[j] + from[j];
      }
    }
  }
}

// ---- Epilogue

template <typename T>
HWY_FLATTEN void FinishAs(const float* sums, int64_t count, float row_scale,
                          const float* column_scale, const float* bias, void* y) {
  ForEachChunk(static_cast<size_t>(count), [&](auto c) HWY_ATTR {
    VF scale = hn::Set(DF(), row_scale);
    if (column_scale != nullptr) scale = hn::Mul(scale, Load(c, column_scale));
    VF v = hn::Mul(Load(c, sums), scale);
    if (bias != nullptr) v = hn::Add(v, Load(c, bias));
    Store(c, v, static_cast<T*>(y));
  });
}

void FinishRow(const float* sums, int64_t row, int64_t first, int64_t count,
               const DotEpilogue& epilogue, const DotResult& y) {
  const float row_scale = epilogue.row_scale == nullptr ? 1.0f : epilogue.row_scale[row];
  const float* const columns =
      epilogue.column_scale == nullptr ? nullptr : epilogue.column_scale + first;
  const float* const bias =
      epilogue.bias == nullptr ? nullptr : epilogue.bias + row * epilogue.bias_stride + first;
  VisitDtype(y.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, F16> || std::is_same_v<T, BF16>) {
      FinishAs<T>(sums, count, row_scale, columns, bias,
                  static_cast<T*>(y.data) + row * y.row_stride + first);
    }
  });
}

void RunTask(const DotTask& task) {
  const DotOperand& b = *task.b;
  float* const sums = ScratchRow(kSumSlot, static_cast<size_t>(task.m * kPanelRows));
  if (task.k == 0) std::fill_n(sums, task.m * kPanelRows, 0.0f);
  for (int64_t k0 = 0; k0 < task.k; k0 += kDotBlock) {
    const int64_t count = HWY_MIN(kDotBlock, task.k - k0);
    FloatRows rows{static_cast<const float*>(b.data) + task.first * b.row_stride + k0,
                   b.row_stride};
    const bool direct = b.dtype == DType::kF32 && b.stride == 1 && b.scale == nullptr &&
                        task.m <= kDirectRows && count % kDotLanes == 0;
    if (!direct) {
      float* const panel = ScratchRow(kPanelSlot, kPanelRows * kDotBlock);
      WidenRows(b, task.first, task.count, k0, count, panel, kDotBlock);
      rows = {panel, kDotBlock};
    }
    if (task.m == 1) {
      AddTiles<1>(task, k0, count, rows, k0 == 0, sums);
    } else {
      AddTiles<kTileRows>(task, k0, count, rows, k0 == 0, sums);
    }
  }
  for (int64_t m = 0; m < task.m; ++m) {
    FinishRow(sums + m * kPanelRows, task.first_row + m, task.first, task.count, *task.epilogue,
              *task.y);
  }
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

#include "backend/cpu/parallel.h"
#include "backend/cpu/targets.h"

namespace tenon::cpu {
namespace {

constexpr TargetTable<void(const DotTask&)> kRunTask = {HWY_CHOOSE_AVX2(RunTask),
                                                        HWY_CHOOSE_AVX3(RunTask)};
constexpr TargetTable<void(const DotOperand&, int64_t, int64_t, int64_t, int64_t, float*, int64_t)>
    kWidenRows = {HWY_CHOOSE_AVX2(WidenRows), HWY_CHOOSE_AVX3(WidenRows)};
constexpr TargetTable<void(const float*, int64_t, int64_t, int64_t, const DotEpilogue&,
                           const DotResult&)>
    kFinishRow = {HWY_CHOOSE_AVX2(FinishRow), HWY_CHOOSE_AVX3(FinishRow)};

constexpr int64_t kWorkPerThread = 64 << 10;  // multiplications: some 10 us

// Rows [first, first + rows) of a as float32.
FloatRows Widened(const DotOperand& a, int64_t first, int64_t rows, int64_t k) {
  const int64_t width = Padded(k);
  if (a.dtype == DType::kF32 && a.stride == 1 && a.scale == nullptr && width == k) {
    return {static_cast<const float*>(a.data) + first * a.row_stride, a.row_stride};
  }
  float* const panel =
      ScratchRow(kRowSlot, static_cast<size_t>(std::max<int64_t>(rows * width, 1)));
  const auto widen = kWidenRows.Chosen();
  const int64_t grain = std::max<int64_t>(kDotLanes, kWorkPerThread / std::max<int64_t>(width, 1));
  ParallelFor(rows, grain, [&](int64_t begin, int64_t end) {
    widen(a, first + begin, end - begin, 0, k, panel + begin * width, width);
  });
  return {panel, width};
}

}  // namespace

void DotProduct(int64_t m, int64_t n, int64_t k, const DotOperand& a, const DotOperand& b,
                const DotEpilogue& epilogue, const DotResult& y) {
  const auto run = kRunTask.Chosen();
  const int64_t panels = (n + kPanelRows - 1) / kPanelRows;
  for (int64_t first = 0; first < m; first += kRowChunk) {
    const int64_t rows = std::min(kRowChunk, m - first);
    const FloatRows widened = Widened(a, first, rows, k);
    const int64_t work = kPanelRows * rows * std::max<int64_t>(k, 1);
    const int64_t grain = std::max<int64_t>(1, kWorkPerThread / work);
    ParallelFor(panels, grain, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        const int64_t column = p * kPanelRows;
        run({rows, k, widened, first, &b, column, std::min(kPanelRows, n - column), &epilogue, &y});
      }
    });
  }
}

void FinishDotRow(const float* sums, int64_t row, int64_t first, int64_t count,
                  const DotEpilogue& epilogue, const DotResult& y) {
  kFinishRow.Chosen()(sums, row, first, count, epilogue, y);
}

}  // namespace tenon::cpu
#endif  // HWY_ONCE
