// Tiles of int8 products: what the instruction sets offer.
#pragma once

#include <cstdint>

#include "backend/cpu/targets.h"

namespace tenon::cpu {

inline constexpr int64_t kInt8Chunk = 64;  // elements along k
inline constexpr int64_t kInt8Tile = 4;    // rows of x and of w

// sums[i * kInt8Tile + j] += sum over `chunks` chunks of x[i][k] * (w[j][k] + shift)
using Int8Tile = void (*)(const int8_t* const* x, const int8_t* const* w, int64_t chunks,
                          int32_t* sums);

struct Int8Tiles {
  Int8Tile one;   // of one row of x
  Int8Tile full;  // of kInt8Tile rows
  int32_t shift;
};

// With AVX512-VNNI, which multiplies unsigned bytes with signed ones: w is shifted by 128. The
// caller has asked whether the CPU has it.
Int8Tiles VnniTiles();
bool HasVnni();

// With what `target` stands for alone: bytes are widened to 16 bit and multiplied in pairs.
Int8Tiles PairTiles(Target target);

}  // namespace tenon::cpu
