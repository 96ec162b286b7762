// Computes  products of int8 rows, exact in int32
// Traffic   w once per call where x has few rows, else once per 1024 of them; x once per block of w
// Mapping   blocks of w that fit L2 over threads; tiles of 4 x 4 results in lanes of int32; bytes
//           are widened to 16 bit and multiplied in pairs, or AVX512-VNNI multiplies them
// Numerics  exact sums; float32 from there on, one rounding where y is narrower
// Limits    k <= kMaxInt8Products
#include "backend/cpu/dot_int8.h"

#include "backend/cpu/dot_int8_tile.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/dot_int8.cc"
#include "backend/cpu/foreach_target.h"
#include "backend/cpu/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

#if HWY_TARGET <= HWY_AVX3
using Bytes = __m512i;
HWY_INLINE Bytes ZeroSums() { return _mm512_setzero_si512(); }
HWY_INLINE Bytes Pairs(const int8_t* from) {
  return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
HWY_INLINE Bytes AddProducts(Bytes sums, Bytes a, Bytes b) {
  return _mm512_add_epi32(sums, _mm512_madd_epi16(a, b));
}
#else
using Bytes = __m256i;
HWY_INLINE Bytes ZeroSums() { return _mm256_setzero_si256(); }
HWY_INLINE Bytes Pairs(const int8_t* from) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
HWY_INLINE Bytes AddProducts(Bytes sums, Bytes a, Bytes b) {
  return _mm256_add_epi32(sums, _mm256_madd_epi16(a, b));
}
#endif
inline constexpr auto kStep = static_cast<int64_t>(sizeof(Bytes) / 2);

template <size_t... sum>
HWY_INLINE void Run(const int8_t* const* x, const int8_t* const* w, int64_t count, int32_t* sums,
                    std::index_sequence<sum...>) {
  Bytes acc[sizeof...(sum)] = {((void)sum, ZeroSums())...};
  for (int64_t k = 0; k < count; k += kStep) {
    const Bytes factors[kInt8Tile] = {Pairs(w[0] + k), Pairs(w[1] + k), Pairs(w[2] + k),
                                      Pairs(w[3] + k)};
    ((acc[sum] = AddProducts(acc[sum], factors[sum % kInt8Tile], Pairs(x[sum / kInt8Tile] + k))),
     ...);
  }
  ((sums[sum] += hn::GetLane(hn::SumOfLanes(DI(), VI{acc[sum]}))), ...);
}

// With AVX2, 16 sums and their factors are more than the registers: two rows at a time.
template <size_t rows>
HWY_FLATTEN void TileOf(const int8_t* const* x, const int8_t* const* w, int64_t chunks,
                        int32_t* sums) {
  constexpr size_t kRows = HWY_MIN(rows, kLanes == 16 ? 4 : 2);
  const int8_t* const w_rows[kInt8Tile] = {w[0], w[1], w[2], w[3]};
  for (size_t row = 0; row < rows; row += kRows) {
    const int8_t* x_rows[kRows];
    for (size_t i = 0; i < kRows; ++i) x_rows[i] = x[row + i];
    Run(x_rows, w_rows, chunks * kInt8Chunk, sums + row * kInt8Tile,
        std::make_index_sequence<kRows * kInt8Tile>());
  }
}

void OneRow(const int8_t* const* x, const int8_t* const* w, int64_t chunks, int32_t* sums) {
  TileOf<1>(x, w, chunks, sums);
}
void FullTile(const int8_t* const* x, const int8_t* const* w, int64_t chunks, int32_t* sums) {
  TileOf<kInt8Tile>(x, w, chunks, sums);
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <cstring>
#include <vector>

#include "backend/cpu/parallel.h"
#include "backend/cpu/targets.h"
#include "base/error.h"

namespace tenon::cpu {
namespace {

using TileTable = TargetTable<void(const int8_t* const*, const int8_t* const*, int64_t, int32_t*)>;
constexpr TileTable kOneRow = {HWY_CHOOSE_AVX2(OneRow), HWY_CHOOSE_AVX3(OneRow)};
constexpr TileTable kFullTile = {HWY_CHOOSE_AVX2(FullTile), HWY_CHOOSE_AVX3(FullTile)};

const Int8Tiles& ChosenTiles() {
  static const Int8Tiles tiles =
      ChosenTarget() == Target::kAvx3 && HasVnni() ? VnniTiles() : PairTiles(ChosenTarget());
  return tiles;
}

constexpr int64_t kRowChunk = 1024;            // rows of x at a time
constexpr int64_t kBlockBytes = 256 << 10;     // of w, in L2
constexpr int64_t kBlockRowsMax = 64;          // of w
constexpr int64_t kWorkPerThread = 256 << 10;  // multiplications: some 10 us
enum ScratchSlot { kPanelSlot, kSumSlot };

// Rows of x, padded with zeros to whole chunks, and what the shift of w adds to their products.
struct Panel {
  const int8_t* data;
  int64_t stride;
  std::vector<int32_t> shifts;
};

Panel PadRows(const Int8Rows& x, int64_t first, int64_t rows, int64_t k, int32_t shift) {
  Panel panel;
  panel.stride = (k + kInt8Chunk - 1) / kInt8Chunk * kInt8Chunk;
  panel.shifts.resize(static_cast<size_t>(rows));
  auto* const to = reinterpret_cast<int8_t*>(
      ScratchRow(kPanelSlot, static_cast<size_t>(rows * panel.stride / 4 + 1)));
  panel.data = to;
  const int64_t grain = std::max<int64_t>(1, kWorkPerThread / std::max<int64_t>(k, 1));
  ParallelFor(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t m = begin; m < end; ++m) {
      const int8_t* const from = x.data + (first + m) * x.row_stride;
      int8_t* const row = to + m * panel.stride;
      int32_t sum = 0;
      for (int64_t i = 0; i < k; ++i) sum += from[i];
      std::memcpy(row, from, static_cast<size_t>(k));
      std::memset(row + k, 0, static_cast<size_t>(panel.stride - k));
      panel.shifts[static_cast<size_t>(m)] = shift * sum;
    }
  });
  return panel;
}

struct Int8Call {
  int64_t n, k;
  Int8Rows w;
  Int8Offset offset;
  const DotEpilogue* epilogue;
  const DotResult* y;
};

// Tiles of kInt8Tile rows of w from row `n` on, against all rows of the panel.
void RunColumns(const Int8Call& call, const Panel& x, int64_t first_row, int64_t rows, int64_t n,
                float* sums, int64_t sums_stride) {
  const Int8Tiles& tiles = ChosenTiles();
  const int64_t columns = std::min(kInt8Tile, call.n - n);
  const int64_t chunks = call.k / kInt8Chunk;
  const int64_t rest = call.k - chunks * kInt8Chunk;
  int8_t tail[kInt8Tile][kInt8Chunk] = {};
  const int8_t* w[kInt8Tile];
  const int8_t* w_tail[kInt8Tile];
  for (int64_t j = 0; j < kInt8Tile; ++j) {
    w[j] = call.w.data + (n + std::min(j, columns - 1)) * call.w.row_stride;
    w_tail[j] = tail[j];
    std::memcpy(tail[j], w[j] + chunks * kInt8Chunk, static_cast<size_t>(rest));
  }
  const int64_t step = rows == 1 ? 1 : kInt8Tile;
  const Int8Tile tile = rows == 1 ? tiles.one : tiles.full;
  for (int64_t m = 0; m < rows; m += step) {
    const int8_t* x_rows[kInt8Tile];
    const int8_t* x_tail[kInt8Tile];
    for (int64_t i = 0; i < kInt8Tile; ++i) {
      x_rows[i] = x.data + std::min(m + i, rows - 1) * x.stride;
      x_tail[i] = x_rows[i] + chunks * kInt8Chunk;
    }
    int32_t products[kInt8Tile * kInt8Tile] = {};
    tile(x_rows, w, chunks, products);
    if (rest > 0) tile(x_tail, w_tail, 1, products);
    for (int64_t i = 0; i < std::min(step, rows - m); ++i) {
      const auto shift = static_cast<uint32_t>(x.shifts[static_cast<size_t>(m + i)]);
      for (int64_t j = 0; j < columns; ++j) {
        // Unsigned, since the shifted sum may have wrapped around.
        int64_t exact =
            static_cast<int32_t>(static_cast<uint32_t>(products[i * kInt8Tile + j]) - shift);
        if (call.offset.x_offset != nullptr) {
          exact -= int64_t{call.offset.x_offset[first_row + m + i]} * call.offset.w_sum[n + j];
        }
        sums[(m + i) * sums_stride + j] = static_cast<float>(exact);
      }
    }
  }
}

}  // namespace

Int8Tiles PairTiles(Target target) { return {kOneRow[target], kFullTile[target], 0}; }

void Int8Product(int64_t m, int64_t n, int64_t k, const Int8Rows& x, const Int8Rows& w,
                 const Int8Offset& offset, const DotEpilogue& epilogue, const DotResult& y) {
  TENON_ASSERT(k <= kMaxInt8Products, "{} products may overflow", k);
  const Int8Call call{n, k, w, offset, &epilogue, &y};
  const int64_t fitting = kBlockBytes / std::max<int64_t>(k, 1) / kInt8Tile * kInt8Tile;
  const int64_t block = std::clamp(fitting, kInt8Tile, kBlockRowsMax);
  for (int64_t first = 0; first < m; first += kRowChunk) {
    const int64_t rows = std::min(kRowChunk, m - first);
    const Panel panel = PadRows(x, first, rows, k, ChosenTiles().shift);
    const int64_t work = block * rows * std::max<int64_t>(k, 1);
    const int64_t grain = std::max<int64_t>(1, kWorkPerThread / work);
    ParallelFor((n + block - 1) / block, grain, [&](int64_t begin, int64_t end) {
      float* const sums = ScratchRow(kSumSlot, static_cast<size_t>(rows * block));
      for (int64_t b = begin; b < end; ++b) {
        const int64_t column = b * block;
        const int64_t count = std::min(block, n - column);
        for (int64_t j = 0; j < count; j += kInt8Tile) {
          RunColumns(call, panel, first, rows, column + j, sums + j, block);
        }
        for (int64_t i = 0; i < rows; ++i) {
          FinishDotRow(sums + i * block, first + i, column, count, epilogue, y);
        }
      }
    });
  }
}

}  // namespace tenon::cpu
#endif  // HWY_ONCE
