// Computes  C = epilogue(A B^T) for bf16, with AVX512-BF16: two products a lane and instruction
// Traffic   packs A once per block of rows; copies rows of B once per block, read ahead of their
// use Mapping   kTileColumns rows of B over threads; a tile is them against one or two vectors of
// rows
//           of A, whose sums stay in registers over all of k
// Numerics  float32 sums in order of k, two products at a time; the instruction takes bf16 numbers
//           below the normal ones as 0
// Limits    the CPU has AVX512-BF16; B is contiguous along k
#include <cpuid.h>
#include <fmt/format.h>
#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "backend/cpu/bandwidth.h"
#include "backend/cpu/gemm_parts.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/scratch.h"
#include "backend/cpu/targets.h"

#define TENON_BF16 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))
#define TENON_BF16_INLINE TENON_BF16 inline __attribute__((always_inline))

namespace tenon::cpu {
namespace {

constexpr int64_t kLanes = 16;          // of 32 bits: a sum, or a pair of neighbours along k
constexpr int64_t kPairs = 2 * kLanes;  // numbers in a vector
// Two vectors of sums a column, two of A and one of B: 31 of 32 registers.
constexpr int64_t kTileColumns = 14;
constexpr int64_t kTileVectors = 2;
constexpr int64_t kTileRows = kTileVectors * kLanes;
constexpr int64_t kGroupTiles = 4;  // whose sums are finished together
constexpr int64_t kSumPitch = 64;   // a tile writes kLanes columns, the last ones to be overwritten
static_assert(kGroupTiles * kTileColumns <= kFinishColumns);
static_assert((kGroupTiles - 1) * kTileColumns + kLanes <= kSumPitch);
// Of packed A: it streams from the last-level cache while the copied rows of B stay in L2.
constexpr int64_t kBlockBytes = 8 << 20;
constexpr int64_t kSumsPerThread = 128 << 10;  // products of two numbers that are worth a thread
// Slots of ScratchRow: A of the calling thread, rows of B and sums of each one.
enum Slot : int { kSlotA, kSlotB, kSlotSums };

bool HasBf16() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax & bit_AVX512BF16) != 0;
}

int64_t RoundUp(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

// ---- Packing

// The matrix of 16 x 16 lanes, transposed. The forms with a mask, since GCC 12 warns of the
// undefined operand in those without.
TENON_BF16_INLINE void Transpose(__m512i (&v)[kLanes]) {
  constexpr __mmask16 kAll = 0xFFFF;
  constexpr __mmask8 kAll8 = 0xFF;
  __m512i t[kLanes];
#pragma GCC unroll 16
  for (int r = 0; r < 16; r += 2) {
    t[r] = _mm512_maskz_unpacklo_epi32(kAll, v[r], v[r + 1]);
    t[r + 1] = _mm512_maskz_unpackhi_epi32(kAll, v[r], v[r + 1]);
  }
  // Block q of v[r + j] has lane 4 q + j of rows [r, r + 4).
#pragma GCC unroll 16
  for (int r = 0; r < 16; r += 4) {
    v[r] = _mm512_maskz_unpacklo_epi64(kAll8, t[r], t[r + 2]);
    v[r + 1] = _mm512_maskz_unpackhi_epi64(kAll8, t[r], t[r + 2]);
    v[r + 2] = _mm512_maskz_unpacklo_epi64(kAll8, t[r + 1], t[r + 3]);
    v[r + 3] = _mm512_maskz_unpackhi_epi64(kAll8, t[r + 1], t[r + 3]);
  }
#pragma GCC unroll 16
  for (int j = 0; j < 4; ++j) {
    const __m512i low_left = _mm512_maskz_shuffle_i32x4(kAll, v[j], v[4 + j], 0x44);
    const __m512i high_left = _mm512_maskz_shuffle_i32x4(kAll, v[j], v[4 + j], 0xEE);
    const __m512i low_right = _mm512_maskz_shuffle_i32x4(kAll, v[8 + j], v[12 + j], 0x44);
    const __m512i high_right = _mm512_maskz_shuffle_i32x4(kAll, v[8 + j], v[12 + j], 0xEE);
    t[j] = _mm512_maskz_shuffle_i32x4(kAll, low_left, low_right, 0x88);
    t[4 + j] = _mm512_maskz_shuffle_i32x4(kAll, low_left, low_right, 0xDD);
    t[8 + j] = _mm512_maskz_shuffle_i32x4(kAll, high_left, high_right, 0x88);
    t[12 + j] = _mm512_maskz_shuffle_i32x4(kAll, high_left, high_right, 0xDD);
  }
#pragma GCC unroll 16
  for (int r = 0; r < 16; ++r) v[r] = t[r];
}

// The numbers [k, k + kPairs) of a row of `size` numbers, zeros behind them.
TENON_BF16_INLINE __m512i LoadPairs(const uint16_t* row, int64_t k, int64_t size, int64_t step) {
  const int64_t count = std::min(kPairs, size - k);
  if (step == 1) {
    if (count == kPairs) return _mm512_loadu_si512(row + k);
    return _mm512_maskz_loadu_epi16((uint32_t{1} << count) - 1, row + k);
  }
  alignas(64) uint16_t numbers[kPairs] = {};
  for (int64_t i = 0; i < count; ++i) numbers[i] = row[(k + i) * step];
  return _mm512_load_si512(numbers);
}

// `vectors` vectors of rows of A from `row` on: for each pair along k, that of each row.
TENON_BF16 void PackRows(const Gemm& gemm, int64_t batch, int64_t row, int64_t vectors,
                         uint16_t* out) {
  for (int64_t vector = 0; vector < vectors; ++vector) {
    for (int64_t k = 0; k < gemm.k; k += kPairs) {
      __m512i v[kLanes];
      for (int64_t r = 0; r < kLanes; ++r) {
        const int64_t at = row + vector * kLanes + r;
        v[r] =
            at < gemm.m
                ? LoadPairs(reinterpret_cast<const uint16_t*>(At(gemm.a, gemm.dtype, batch, at, 0)),
                            k, gemm.k, gemm.a.column)
                : _mm512_setzero_si512();
      }
      Transpose(v);
      uint16_t* const to = out + k * vectors * kLanes + vector * kPairs;
      for (int64_t pair = 0; pair < kLanes; ++pair) {
        _mm512_store_si512(to + pair * vectors * kPairs, v[pair]);
      }
    }
  }
}

// Columns [column, column + kTileColumns) of C, as rows of B. Those beyond the last repeat it.
struct TileOfB {
  const uint16_t* rows[kTileColumns];
};
TileOfB RowsOfB(const Gemm& gemm, int64_t batch, int64_t column, bool up) {
  TileOfB tile;
  for (int64_t c = 0; c < kTileColumns; ++c) {
    const int64_t at = std::min(column + c, gemm.n - 1);
    tile.rows[c] =
        reinterpret_cast<const uint16_t*>(At(gemm.b, gemm.dtype, batch, RowOfB(gemm, at, up), 0));
  }
  return tile;
}

// The kPairs numbers of each row behind one another: whatever the rows' distance in memory, which
// is often a large power of two and then meets few sets of the caches.
TENON_BF16 void CopyRows(const TileOfB& tile, int64_t size, uint16_t* out) {
  for (int64_t c = 0; c < kTileColumns; ++c) {
    for (int64_t k = 0; k < size; k += kPairs) {
      _mm512_store_si512(out + k * kTileColumns + c * kPairs, LoadPairs(tile.rows[c], k, size, 1));
    }
  }
}

// ---- Product

// sums[row * kSumPitch + column] of `vectors` vectors of packed rows and copied rows of B. `next`
// is what will be copied after this.
template <int64_t vectors, bool prefetch>
TENON_BF16 void Tile(const uint16_t* a, const uint16_t* b, int64_t k, const TileOfB& next,
                     float* sums) {
  __m512 sum[kTileColumns][vectors];
#pragma GCC unroll 16
  for (int64_t c = 0; c < kTileColumns; ++c) {
#pragma GCC unroll 2
    for (int64_t v = 0; v < vectors; ++v) sum[c][v] = _mm512_setzero_ps();
  }
  for (int64_t first = 0; first < k; first += kPairs, b += kTileColumns * kPairs) {
    if constexpr (prefetch) {
      for (int64_t c = 0; c < kTileColumns; ++c) {
        _mm_prefetch(reinterpret_cast<const char*>(next.rows[c] + first), _MM_HINT_T1);
      }
    }
    for (int64_t i = 0; i < kPairs; i += 2, a += vectors * kPairs) {
      __m512bh x[vectors];
#pragma GCC unroll 2
      for (int64_t v = 0; v < vectors; ++v) {
        x[v] = reinterpret_cast<__m512bh>(_mm512_load_si512(a + v * kPairs));
      }
#pragma GCC unroll 16
      for (int64_t c = 0; c < kTileColumns; ++c) {
        int32_t pair;
        std::memcpy(&pair, b + c * kPairs + i, sizeof(pair));
        const auto w = reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair));
#pragma GCC unroll 2
        for (int64_t v = 0; v < vectors; ++v) sum[c][v] = _mm512_dpbf16_ps(sum[c][v], x[v], w);
      }
    }
  }
#pragma GCC unroll 2
  for (int64_t v = 0; v < vectors; ++v) {
    __m512i columns[kLanes];
#pragma GCC unroll 16
    for (int64_t c = 0; c < kLanes; ++c) {
      columns[c] = c < kTileColumns ? _mm512_castps_si512(sum[c][v]) : _mm512_setzero_si512();
    }
    Transpose(columns);
#pragma GCC unroll 16
    for (int64_t r = 0; r < kLanes; ++r) {
      _mm512_storeu_si512(sums + (v * kLanes + r) * kSumPitch, columns[r]);
    }
  }
}

// Rows [first, first + rows) of A, packed.
struct Block {
  int64_t batch;
  int64_t first;
  int64_t rows;
  const uint16_t* packed;
};

// Copied rows of B against the whole block.
void RunTiles(const Block& block, int64_t k, const uint16_t* b, const TileOfB& next, float* sums) {
  const int64_t depth = RoundUp(k, kPairs);
  for (int64_t row = 0; row < block.rows; row += kTileRows) {
    const uint16_t* const a = block.packed + row * depth;
    float* const to = sums + row * kSumPitch;
    if (block.rows - row <= kLanes) {
      row == 0 ? Tile<1, true>(a, b, k, next, to) : Tile<1, false>(a, b, k, next, to);
    } else {
      row == 0 ? Tile<2, true>(a, b, k, next, to) : Tile<2, false>(a, b, k, next, to);
    }
  }
}

// The tiles of columns [begin, end).
void RunColumns(const Gemm& gemm, const Block& block, int64_t begin, int64_t end) {
  auto* const b = reinterpret_cast<uint16_t*>(
      ScratchRow(kSlotB, static_cast<size_t>(kTileColumns * RoundUp(gemm.k, kPairs) / 2)));
  const int64_t side = RoundUp(block.rows, kTileRows) * kSumPitch;
  float* const sums = ScratchRow(kSlotSums, static_cast<size_t>(2 * side));
  const int sides = gemm.gate == Gate::kNone ? 1 : 2;
  for (int64_t group = begin; group < end; group += kGroupTiles) {
    const int64_t tiles = std::min(kGroupTiles, end - group);
    for (int up = 0; up < sides; ++up) {
      for (int64_t tile = 0; tile < tiles; ++tile) {
        const int64_t column = (group + tile) * kTileColumns;
        CopyRows(RowsOfB(gemm, block.batch, column, up != 0), gemm.k, b);
        RunTiles(block, gemm.k, b, RowsOfB(gemm, block.batch, column + kTileColumns, up != 0),
                 sums + up * side + tile * kTileColumns);
      }
    }
    const int64_t column = group * kTileColumns;
    const int64_t count = std::min(tiles * kTileColumns, gemm.n - column);
    for (int64_t row = 0; row < block.rows; ++row) {
      FinishRow(gemm, block.batch, block.first + row, column, count, sums + row * kSumPitch,
                sums + side + row * kSumPitch);
    }
  }
}

// With fewer rows the skinny kernel, which copies nothing, was faster on a Zen 5. When B comes from
// memory, its prefetch is worth the copy earlier: 8 rows and B of 4096 x 4096 took 0.65 of the
// time.
int64_t LeastRows(const Gemm& gemm) {
  return 2 * gemm.n * gemm.k > LastLevelCacheBytes() / 2 ? 3 : 9;
}

}  // namespace

std::string WhyNoBf16() {
  static const std::string why =
      ChosenTarget() != Target::kAvx3
          ? fmt::format("the instruction set is {}", TargetName(ChosenTarget()))
      : HasBf16() ? ""
                  : "this CPU lacks AVX512-BF16";
  return why;
}

std::string DeclinesBf16(const Gemm& gemm) {
  if (gemm.dtype != DType::kBF16) return "the operands are not bf16";
  if (const int64_t least = LeastRows(gemm); gemm.m < least) {
    return fmt::format("{} rows are fewer than {}", gemm.m, least);
  }
  if (gemm.b.column != 1 && gemm.k > 1) return "the right operand is not contiguous along k";
  return WhyNoBf16();
}

void RunBf16(const Gemm& gemm) {
  const int64_t depth = std::max(RoundUp(gemm.k, kPairs), kPairs);
  const int64_t most = std::max(kBlockBytes / (2 * depth) / kTileRows * kTileRows, kTileRows);
  const int64_t rows = std::min(most, RoundUp(gemm.m, kTileRows));
  auto* const packed =
      reinterpret_cast<uint16_t*>(ScratchRow(kSlotA, static_cast<size_t>(rows * depth / 2)));
  for (int64_t batch = 0; batch < gemm.batch; ++batch) {
    for (int64_t first = 0; first < gemm.m; first += rows) {
      const Block block = {batch, first, std::min(rows, gemm.m - first), packed};
      ParallelFor((block.rows + kTileRows - 1) / kTileRows,
                  std::max<int64_t>(1, kSumsPerThread / (kTileRows * depth)),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) {
                      const int64_t row = i * kTileRows;
                      const int64_t vectors = block.rows - row <= kLanes ? 1 : kTileVectors;
                      PackRows(gemm, batch, first + row, vectors,
                               packed + row * RoundUp(gemm.k, kPairs));
                    }
                  });
      ParallelFor((gemm.n + kTileColumns - 1) / kTileColumns,
                  std::max<int64_t>(1, kSumsPerThread / (kTileColumns * block.rows * depth)),
                  [&](int64_t begin, int64_t end) { RunColumns(gemm, block, begin, end); });
    }
  }
}

}  // namespace tenon::cpu
