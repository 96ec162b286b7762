// Computes  C = epilogue(A B^T) for any strides, sizes and storage types
// Traffic   packs A once per block of rows and B once per block of rows, both as float32
// Mapping   panels of two vectors of columns over threads; a tile is kTileRows x one panel, whose
//           sums stay in registers over all of k. With a gate, one vector has gates and one ups
// Numerics  float32 sums in order of k
// Limits    none
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/gemm_blocked.cc"
#include "backend/cpu/foreach_target.h"
#include "backend/cpu/gemm_parts.h"
#include "backend/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

inline constexpr int64_t kPanel = 2 * static_cast<int64_t>(kLanes);
// Two accumulators per row, two vectors of B and one of A: 27 of 32 registers, 15 of 16.
inline constexpr int kTileRows = HWY_TARGET <= HWY_AVX3 ? 12 : 6;

// ---- Packing

// Transposes four rows of k-contiguous B: out[k * kPanel + 0..3].
template <typename T>
HWY_INLINE void PackFourRows(const T* const* rows, int64_t k, float* HWY_RESTRICT out) {
  const hn::Repartition<double, DF> dd;
  alignas(64) float blocks[4][kLanes];
  for (int64_t i = 0; i < k; i += static_cast<int64_t>(kLanes)) {
    const auto count = static_cast<size_t>(HWY_MIN(k - i, static_cast<int64_t>(kLanes)));
    VF v[4];
    for (int r = 0; r < 4; ++r) {
      v[r] = count == kLanes ? LoadFull(rows[r] + i) : LoadFirst(rows[r] + i, count);
    }
    const auto low01 = hn::BitCast(dd, hn::InterleaveLower(DF(), v[0], v[1]));
    const auto low23 = hn::BitCast(dd, hn::InterleaveLower(DF(), v[2], v[3]));
    const auto high01 = hn::BitCast(dd, hn::InterleaveUpper(DF(), v[0], v[1]));
    const auto high23 = hn::BitCast(dd, hn::InterleaveUpper(DF(), v[2], v[3]));
    // Block q of the vector j has element 4q + j of the four rows.
    hn::Store(hn::BitCast(DF(), hn::InterleaveLower(dd, low01, low23)), DF(), blocks[0]);
    hn::Store(hn::BitCast(DF(), hn::InterleaveUpper(dd, low01, low23)), DF(), blocks[1]);
    hn::Store(hn::BitCast(DF(), hn::InterleaveLower(dd, high01, high23)), DF(), blocks[2]);
    hn::Store(hn::BitCast(DF(), hn::InterleaveUpper(dd, high01, high23)), DF(), blocks[3]);
    for (size_t e = 0; e < count; ++e) {
      std::memcpy(out + (i + static_cast<int64_t>(e)) * kPanel, blocks[e % 4] + e / 4 * 4, 16);
    }
  }
}

template <typename T>
HWY_INLINE float LoadOne(const T* from) {
  return hn::GetLane(LoadFirst(from, 1));
}

// Columns [column, column + kPanel) of C, or half as many with a gate, behind one another for each
// k. Columns beyond the last repeat it.
template <typename T>
HWY_FLATTEN void PackPanel(const Gemm& gemm, int64_t batch, int64_t column, float* out) {
  const bool gated = gemm.gate != Gate::kNone;
  const T* rows[kPanel];
  const int64_t width = gated ? kPanel / 2 : kPanel;
  for (int64_t c = 0; c < kPanel; ++c) {
    const int64_t at = HWY_MIN(column + c % width, gemm.n - 1);
    rows[c] =
        reinterpret_cast<const T*>(At(gemm.b, gemm.dtype, batch, RowOfB(gemm, at, c >= width), 0));
  }
  if (gemm.b.column == 1) {
    for (int64_t c = 0; c < kPanel; c += 4) PackFourRows<T>(rows + c, gemm.k, out + c);
    return;
  }
  const bool neighbours =
      gemm.b.row == 1 && gemm.gate != Gate::kInterleaved && column + width <= gemm.n;
  for (int64_t k = 0; k < gemm.k; ++k) {
    const int64_t at = k * gemm.b.column;
    if (neighbours) {
      hn::StoreU(LoadFull(rows[0] + at), DF(), out + k * kPanel);
      hn::StoreU(LoadFull(rows[kLanes] + at), DF(), out + k * kPanel + kLanes);
    } else {
      for (int64_t c = 0; c < kPanel; ++c) out[k * kPanel + c] = LoadOne(rows[c] + at);
    }
  }
}

// Rows [row, row + kTileRows): out[k * kTileRows + r]. Rows beyond the last are zero.
template <typename T>
HWY_FLATTEN void PackTile(const Gemm& gemm, int64_t batch, int64_t row, float* out) {
  for (int r = 0; r < kTileRows; ++r) {
    if (row + r >= gemm.m) {
      for (int64_t k = 0; k < gemm.k; ++k) out[k * kTileRows + r] = 0;
      continue;
    }
    const T* from = reinterpret_cast<const T*>(At(gemm.a, gemm.dtype, batch, row + r, 0));
    if (gemm.a.column == 1) {
      alignas(64) float lanes[kLanes];
      for (int64_t k = 0; k < gemm.k; k += static_cast<int64_t>(kLanes)) {
        const auto count = static_cast<size_t>(HWY_MIN(gemm.k - k, static_cast<int64_t>(kLanes)));
        hn::Store(LoadFirst(from + k, count), DF(), lanes);
        for (size_t e = 0; e < count; ++e) {
          out[(k + static_cast<int64_t>(e)) * kTileRows + r] = lanes[e];
        }
      }
    } else {
      for (int64_t k = 0; k < gemm.k; ++k) {
        out[k * kTileRows + r] = LoadOne(from + k * gemm.a.column);
      }
    }
  }
}

// ---- Product

template <int kRows>
HWY_INLINE void Tile(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, int64_t k,
                     float* HWY_RESTRICT sums) {
  VF left[kRows];
  VF right[kRows];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) left[r] = right[r] = hn::Zero(DF());
  for (int64_t i = 0; i < k; ++i, a += kTileRows, b += kPanel) {
    const VF b0 = hn::LoadU(DF(), b);
    const VF b1 = hn::LoadU(DF(), b + kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const VF broadcast = Splat(a[r]);
      left[r] = hn::MulAdd(broadcast, b0, left[r]);
      right[r] = hn::MulAdd(broadcast, b1, right[r]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    hn::StoreU(left[r], DF(), sums + r * kPanel);
    hn::StoreU(right[r], DF(), sums + r * kPanel + kLanes);
  }
}

HWY_FLATTEN void RunTile(int rows, const float* a, const float* b, int64_t k, float* sums) {
  if (rows * 3 <= kTileRows) return Tile<kTileRows / 3>(a, b, k, sums);
  if (rows * 3 <= kTileRows * 2) return Tile<kTileRows / 3 * 2>(a, b, k, sums);
  Tile<kTileRows>(a, b, k, sums);
}

// Panel `column` against the packed rows [row, row + rows).
void RunPanel(const Gemm& gemm, int64_t batch, int64_t row, int64_t rows, int64_t column,
              const float* a, const float* b) {
  const bool gated = gemm.gate != Gate::kNone;
  const int64_t count = HWY_MIN(gemm.n - column, gated ? kPanel / 2 : kPanel);
  alignas(64) float sums[kTileRows * kPanel];
  for (int64_t tile = 0; tile < rows; tile += kTileRows) {
    const auto tile_rows = static_cast<int>(HWY_MIN(rows - tile, int64_t{kTileRows}));
    RunTile(tile_rows, a + tile * gemm.k, b, gemm.k, sums);
    for (int r = 0; r < tile_rows; ++r) {
      FinishRow(gemm, batch, row + tile + r, column, count, sums + r * kPanel,
                sums + r * kPanel + kLanes);
    }
  }
}

void Shape(int64_t* tile_rows, int64_t* panel) {
  *tile_rows = kTileRows;
  *panel = kPanel;
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

#include "backend/cpu/parallel.h"
#include "backend/cpu/scratch.h"
#include "backend/cpu/targets.h"

namespace tenon::cpu {
namespace {

using Pack = void(const Gemm&, int64_t, int64_t, float*);
using PackTable = TargetTable<Pack>;

Pack* PackPanelOf(DType dtype) {
  static constexpr PackTable kTables[] = {
      {HWY_CHOOSE_AVX2(PackPanel<float>), HWY_CHOOSE_AVX3(PackPanel<float>)},
      {HWY_CHOOSE_AVX2(PackPanel<F16>), HWY_CHOOSE_AVX3(PackPanel<F16>)},
      {HWY_CHOOSE_AVX2(PackPanel<BF16>), HWY_CHOOSE_AVX3(PackPanel<BF16>)}};
  return kTables[static_cast<size_t>(dtype)].Chosen();
}

Pack* PackTileOf(DType dtype) {
  static constexpr PackTable kTables[] = {
      {HWY_CHOOSE_AVX2(PackTile<float>), HWY_CHOOSE_AVX3(PackTile<float>)},
      {HWY_CHOOSE_AVX2(PackTile<F16>), HWY_CHOOSE_AVX3(PackTile<F16>)},
      {HWY_CHOOSE_AVX2(PackTile<BF16>), HWY_CHOOSE_AVX3(PackTile<BF16>)}};
  return kTables[static_cast<size_t>(dtype)].Chosen();
}

constexpr TargetTable<void(const Gemm&, int64_t, int64_t, int64_t, int64_t, const float*,
                           const float*)>
    kRunPanel = {HWY_CHOOSE_AVX2(RunPanel), HWY_CHOOSE_AVX3(RunPanel)};
constexpr TargetTable<void(int64_t*, int64_t*)> kShape = {HWY_CHOOSE_AVX2(Shape),
                                                          HWY_CHOOSE_AVX3(Shape)};
// The packed rows of a block: they stay in the last-level cache while panels run over them.
constexpr int64_t kBlockFloats = 4 << 20;
constexpr int64_t kSumsPerThread = 64 << 10;  // products of two numbers that are worth a thread

}  // namespace

std::string DeclinesBlocked(const Gemm&) { return ""; }

void RunBlocked(const Gemm& gemm) {
  int64_t tile_rows = 0;
  int64_t panel = 0;
  kShape.Chosen()(&tile_rows, &panel);
  const int64_t width = gemm.gate == Gate::kNone ? panel : panel / 2;
  const int64_t panels = (gemm.n + width - 1) / width;
  const int64_t k = std::max<int64_t>(gemm.k, 1);
  const int64_t tiles_per_block = std::clamp<int64_t>(kBlockFloats / (k * tile_rows), 1, 64);
  const int64_t all_tiles = (gemm.m + tile_rows - 1) / tile_rows;
  Pack* const pack_panel = PackPanelOf(gemm.dtype);
  Pack* const pack_tile = PackTileOf(gemm.dtype);
  // Several small products share a round of packing.
  const int64_t tiles_in_block = std::min(tiles_per_block, all_tiles);
  const int64_t batches =
      std::clamp<int64_t>(kBlockFloats / (k * tile_rows * std::max<int64_t>(tiles_in_block, 1)), 1,
                          std::max<int64_t>(gemm.batch, 1));
  for (int64_t first = 0; first < gemm.batch; first += batches) {
    const int64_t here = std::min(batches, gemm.batch - first);
    for (int64_t tile = 0; tile < all_tiles; tile += tiles_per_block) {
      const int64_t tiles = std::min(tiles_per_block, all_tiles - tile);
      const int64_t rows = std::min(tiles * tile_rows, gemm.m - tile * tile_rows);
      const int64_t tile_floats = gemm.k * tile_rows;
      float* const packed = ScratchRow(0, static_cast<size_t>(here * tiles * tile_floats));
      ParallelFor(here * tiles, std::max<int64_t>(1, kSumsPerThread / (k * tile_rows)),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) {
                      pack_tile(gemm, first + i / tiles, (tile + i % tiles) * tile_rows,
                                packed + i * tile_floats);
                    }
                  });
      ParallelFor(here * panels, std::max<int64_t>(1, kSumsPerThread / (k * panel)),
                  [&](int64_t begin, int64_t end) {
                    float* const b = ScratchRow(1, static_cast<size_t>(gemm.k * panel));
                    for (int64_t i = begin; i < end; ++i) {
                      const int64_t column = i % panels * width;
                      const int64_t batch = i / panels;
                      pack_panel(gemm, first + batch, column, b);
                      kRunPanel.Chosen()(gemm, first + batch, tile * tile_rows, rows, column,
                                         packed + batch * tiles * tile_floats, b);
                    }
                  });
    }
  }
}

}  // namespace tenon::cpu
#endif  // HWY_ONCE
