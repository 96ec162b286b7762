// Computes  tiles of int8 products with AVX512-VNNI: four products a lane and instruction
// Traffic   every byte of the tile's rows once
// Mapping   4 x 4 (or 1 x 4) results, each in 16 lanes of int32
// Numerics  exact; what the shift of w adds may wrap around and is taken off again
// Limits    the CPU has AVX512-VNNI
#include <cpuid.h>
#include <immintrin.h>

#include <utility>

#include "backend/cpu/dot_int8_tile.h"

#define TENON_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))

namespace tenon::cpu {
namespace {

TENON_VNNI inline __attribute__((always_inline)) int32_t SumOfLanes(__m512i v) {
  // Through memory: GCC 12 warns of the undefined operand in its forms that halve a vector.
  alignas(64) __m256i halves[2];
  _mm512_store_si512(halves, v);
  const __m256i v8 = _mm256_add_epi32(halves[0], halves[1]);
  __m128i v4 = _mm_add_epi32(_mm256_castsi256_si128(v8), _mm256_extracti128_si256(v8, 1));
  v4 = _mm_add_epi32(v4, _mm_shuffle_epi32(v4, 0x4E));
  return _mm_cvtsi128_si32(_mm_add_epi32(v4, _mm_shuffle_epi32(v4, 0xB1)));
}

template <int64_t rows, size_t... sum>
TENON_VNNI inline __attribute__((always_inline)) void Run(const int8_t* const* x,
                                                          const int8_t* const* w, int64_t chunks,
                                                          int32_t* sums,
                                                          std::index_sequence<sum...>) {
  constexpr size_t kColumns = kInt8Tile;
  const __m512i high_bit = _mm512_set1_epi8(-128);
  __m512i acc[sizeof...(sum)] = {((void)sum, _mm512_setzero_si512())...};
  for (int64_t k = 0; k < chunks * kInt8Chunk; k += kInt8Chunk) {
    // A flipped high bit adds 128 to a signed byte and makes it an unsigned one.
    const __m512i factors[kColumns] = {_mm512_xor_si512(_mm512_loadu_si512(w[0] + k), high_bit),
                                       _mm512_xor_si512(_mm512_loadu_si512(w[1] + k), high_bit),
                                       _mm512_xor_si512(_mm512_loadu_si512(w[2] + k), high_bit),
                                       _mm512_xor_si512(_mm512_loadu_si512(w[3] + k), high_bit)};
    ((acc[sum] = _mm512_dpbusd_epi32(acc[sum], factors[sum % kColumns],
                                     _mm512_loadu_si512(x[sum / kColumns] + k))),
     ...);
  }
  ((sums[sum] += SumOfLanes(acc[sum])), ...);
}

template <int64_t rows>
TENON_VNNI void Tile(const int8_t* const* x, const int8_t* const* w, int64_t chunks,
                     int32_t* sums) {
  const int8_t* x_rows[rows];
  for (int64_t i = 0; i < rows; ++i) x_rows[i] = x[i];
  const int8_t* const w_rows[kInt8Tile] = {w[0], w[1], w[2], w[3]};
  Run<rows>(x_rows, w_rows, chunks, sums, std::make_index_sequence<rows * kInt8Tile>());
}

}  // namespace

Int8Tiles VnniTiles() { return {Tile<1>, Tile<kInt8Tile>, 128}; }

bool HasVnni() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_AVX512VNNI) != 0;
}

}  // namespace tenon::cpu
