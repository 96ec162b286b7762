// Tiles of int8 products with every instruction set of this CPU, against plain integers.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "backend/cpu/dot_int8_tile.h"

namespace tenon::cpu {
namespace {

std::vector<Int8Tiles> TilesOfThisCpu() {
  std::vector<Int8Tiles> all;
  for (Target target : SupportedTargets()) all.push_back(PairTiles(target));
  if (SupportedTargets().back() == Target::kAvx3 && HasVnni()) all.push_back(VnniTiles());
  return all;
}

TEST(Int8Tiles, AddTheExactProducts) {
  constexpr int64_t kChunks = 5;
  constexpr int64_t kWidth = kChunks * kInt8Chunk;
  std::mt19937 random(1);
  std::vector<int8_t> bytes(2 * kInt8Tile * kWidth);
  for (int8_t& byte : bytes) byte = static_cast<int8_t>(random());
  std::fill_n(bytes.begin(), kWidth, int8_t{-128});  // the largest products, of one row of each
  std::fill_n(bytes.begin() + kInt8Tile * kWidth, kWidth, int8_t{-128});
  const int8_t* x[kInt8Tile];
  const int8_t* w[kInt8Tile];
  for (int64_t i = 0; i < kInt8Tile; ++i) {
    x[i] = bytes.data() + i * kWidth;
    w[i] = bytes.data() + (kInt8Tile + i) * kWidth;
  }
  for (const Int8Tiles& tiles : TilesOfThisCpu()) {
    for (int64_t rows : {int64_t{1}, kInt8Tile}) {
      int32_t sums[kInt8Tile * kInt8Tile];
      std::fill_n(sums, kInt8Tile * kInt8Tile, 7);
      (rows == 1 ? tiles.one : tiles.full)(x, w, kChunks, sums);
      for (int64_t i = 0; i < kInt8Tile * kInt8Tile; ++i) {
        int32_t expected = 7;
        for (int64_t k = 0; i < rows * kInt8Tile && k < kWidth; ++k) {
          expected += x[i / kInt8Tile][k] * (w[i % kInt8Tile][k] + tiles.shift);
        }
        EXPECT_EQ(sums[i], expected) << i << ", shift " << tiles.shift;
      }
    }
  }
}

}  // namespace
}  // namespace tenon::cpu
