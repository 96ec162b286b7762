// Vectors of float from and to memory that holds float, F16, BF16, F8E4M3 or int8.
//
// Full: kLanes elements at any alignment. First: the first `count` <= kLanes elements; nothing
// outside them is read or written, the other lanes of a loaded vector are 0. Rounding is to nearest
// even and NaN stays NaN (int8: NaN is 0), with the bits of ToF16, ToBF16 and ToF8E4M3 of
// base/dtype.h on every target. A signalling f16 NaN arrives quiet.
// AVX512-BF16's conversion is not used: it flushes denormals to zero.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "backend/cpu/hwy_config.h"
#include "hwy/cache_control.h"  // quoted, so that it sorts behind its configuration
#include "hwy/highway.h"
#include "tenon/tensor.h"

#if defined(TENON_BACKEND_CPU_CONVERT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_BACKEND_CPU_CONVERT_INL_H_
#undef TENON_BACKEND_CPU_CONVERT_INL_H_
#else
#define TENON_BACKEND_CPU_CONVERT_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using DU = hn::RebindToUnsigned<DF>;
using DI = hn::RebindToSigned<DF>;
using VF = hn::Vec<DF>;
using VU = hn::Vec<DU>;
using VI = hn::Vec<DI>;
using MF = hn::Mask<DF>;

inline constexpr size_t kLanes = hn::MaxLanes(DF());

// kLanes words of 8 or 16 bits: half or a quarter of a vector.
using D16 = hn::Rebind<uint16_t, DF>;
using D8 = hn::Rebind<uint8_t, DF>;
using V16 = hn::Vec<D16>;
using V8 = hn::Vec<D8>;

// The unsigned integer that has the size of a storage type.
template <typename T>
using WordOf = std::conditional_t<sizeof(T) == 1, uint8_t,
                                  std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>>;

// ---- Words: part of a vector without touching the rest of memory

// Copies `bytes` < 16 bytes with at most four moves.
HWY_INLINE void CopyUnder16(void* to, const void* from, size_t bytes) {
  char* out = static_cast<char*>(to);
  const char* in = static_cast<const char*>(from);
  size_t done = 0;
  if (bytes & 8) {
    std::memcpy(out, in, 8);
    done = 8;
  }
  if (bytes & 4) {
    std::memcpy(out + done, in + done, 4);
    done += 4;
  }
  if (bytes & 2) {
    std::memcpy(out + done, in + done, 2);
    done += 2;
  }
  if (bytes & 1) out[done] = in[done];
}

// AVX2 masks only words of 32 bits; Highway's 8- and 16-bit forms read whole vectors there.
template <class D>
inline constexpr bool kMasksExactly = HWY_TARGET <= HWY_AVX3 || sizeof(hn::TFromD<D>) == 4;

template <class D>
HWY_INLINE hn::Vec<D> LoadFirstWords(D d, const hn::TFromD<D>* from, size_t count) {
  if constexpr (kMasksExactly<D>) {
    return hn::MaskedLoad(hn::FirstN(d, count), d, from);
  } else {
    if (count == hn::MaxLanes(d)) return hn::LoadU(d, from);
    alignas(16) hn::TFromD<D> words[16 / sizeof(hn::TFromD<D>)] = {};
    CopyUnder16(words, from, count * sizeof(hn::TFromD<D>));
    return hn::LoadU(d, words);
  }
}

template <class D>
HWY_INLINE void StoreFirstWords(hn::Vec<D> v, D d, hn::TFromD<D>* to, size_t count) {
  if constexpr (kMasksExactly<D>) {
    hn::BlendedStore(v, hn::FirstN(d, count), d, to);
  } else {
    if (count == hn::MaxLanes(d)) return hn::StoreU(v, d, to);
    alignas(16) hn::TFromD<D> words[16 / sizeof(hn::TFromD<D>)];
    hn::StoreU(v, d, words);
    CopyUnder16(to, words, count * sizeof(hn::TFromD<D>));
  }
}

// ---- Words to float

HWY_INLINE VF FromWords(float, VU bits) { return hn::BitCast(DF(), bits); }

HWY_INLINE VF FromWords(BF16, V16 bits) {
#if HWY_TARGET <= HWY_AVX3
  // One shuffle instead of a widening and a shift, which compete for the same ports.
  alignas(64) static constexpr uint16_t kUpper[32] = {0, 0,  0, 1,  0, 2,  0, 3,  0, 4, 0,
                                                      5, 0,  6, 0,  7, 0,  8, 0,  9, 0, 10,
                                                      0, 11, 0, 12, 0, 13, 0, 14, 0, 15};
  return VF{_mm512_castsi512_ps(_mm512_maskz_permutexvar_epi16(
      0xAAAAAAAA, _mm512_load_si512(kUpper), _mm512_castsi256_si512(bits.raw)))};
#else
  return hn::BitCast(DF(), hn::ShiftLeft<16>(hn::PromoteTo(DU(), bits)));
#endif
}

HWY_INLINE VF FromWords(F16, V16 bits) {
  return hn::PromoteTo(DF(), hn::BitCast(hn::Rebind<hwy::float16_t, DF>(), bits));
}

// Through f16, whose conversion takes denormals at full speed: e4m3's exponent and mantissa fields
// read as f16 fields make a value that is 2^8 too small.
HWY_INLINE VF FromWords(F8E4M3, V8 bits) {
  const DF d;
  const DU du;
  const hn::RebindToSigned<D16> d16;
  const auto high = hn::BitCast(d16, hn::ShiftLeft<8>(hn::PromoteTo(D16(), bits)));
  // The shift doubles the sign bit; the copy is taken out.
  const auto half = hn::And(hn::ShiftRight<1>(high), hn::Set(d16, static_cast<int16_t>(0xBFFF)));
  const VF v = hn::Mul(FromWords(F16(), hn::BitCast(D16(), half)), hn::Set(d, 256.0f));
  const VU sign = hn::Set(du, 0x80000000);
  const VU nan = hn::Set(du, 0x7FC00000);
#if HWY_TARGET <= HWY_AVX3
  const __m128i magnitude_bits = _mm_set1_epi8(0x7F);
  const __mmask16 is_nan =
      _mm_cmpeq_epi8_mask(_mm_and_si128(bits.raw, magnitude_bits), magnitude_bits);
  constexpr int kAndOr = 0xEA;  // a & b | c
  return hn::BitCast(d, VU{_mm512_mask_ternarylogic_epi32(hn::BitCast(du, v).raw, is_nan, sign.raw,
                                                          nan.raw, kAndOr)});
#else
  const MF is_nan = hn::Eq(hn::Abs(v), hn::Set(d, 480.0f));  // 0x7F read as a number
  const VU signed_nan = hn::Or(hn::And(hn::BitCast(du, v), sign), nan);
  return hn::IfThenElse(is_nan, hn::BitCast(d, signed_nan), v);
#endif
}

HWY_INLINE VF FromWords(int8_t, V8 bits) {
  const hn::Rebind<int8_t, DF> d8;
  return hn::ConvertTo(DF(), hn::PromoteTo(DI(), hn::BitCast(d8, bits)));
}

// ---- Float to words, in the low bits of a 32-bit word or in a register of the final width

// bf16 in the upper half of each word; the lower half is not cleared.
HWY_INLINE VU BF16InUpperHalf(VF v) {
  const DU d;
  const VU bits = hn::BitCast(d, v);
  const VU half = hn::Add(bits, hn::Set(d, 0x7FFF));
#if HWY_TARGET <= HWY_AVX3
  const __mmask16 is_odd = _mm512_test_epi32_mask(bits.raw, _mm512_set1_epi32(0x10000));
  const VU rounded{_mm512_mask_add_epi32(half.raw, is_odd, half.raw, _mm512_set1_epi32(1))};
#else
  const VU rounded = hn::Add(half, hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1)));
#endif
  const VU quiet = hn::Or(bits, hn::Set(d, 0x00400000));
  return hn::IfThenElse(hn::RebindMask(d, hn::IsNaN(v)), quiet, rounded);
}

// |v| on its way to e4m3. Adding 2^(20 + e), where 2^e is v's power of two but at least 2^-6,
// leaves v in steps of 2^(e - 3): the three mantissa bits, rounded to even by the addition itself.
struct F8Steps {
  VU power;  // bits of 2^e
  VF rounder;
  VF sum;  // |v| + rounder; NaN counts as 448
};

HWY_INLINE F8Steps CountF8Steps(VF v) {
  const DF d;
  const DU du;
  // minps returns its second operand when the first is NaN.
  const VF magnitude = hn::Min(hn::Abs(v), hn::Set(d, 448.0f));
  const VU exponent = hn::And(hn::BitCast(du, magnitude), hn::Set(du, 0x7F800000));
  const VU power = hn::Max(exponent, hn::Set(du, 121u << 23));
  // 0x38 is minus the bias of the code's exponent field, 121 << 3, in its low byte.
  const VF rounder = hn::BitCast(d, hn::Add(power, hn::Set(du, (20u << 23) + 0x38)));
  return {power, rounder, hn::Add(magnitude, rounder)};
}

HWY_INLINE VU ToWords(float, VF v) { return hn::BitCast(DU(), v); }

HWY_INLINE V16 ToWords(BF16, VF v) {
  const VU words = BF16InUpperHalf(v);
#if HWY_TARGET <= HWY_AVX3
  alignas(64) static constexpr uint16_t kUpper[32] = {1,  3,  5,  7,  9,  11, 13, 15,
                                                      17, 19, 21, 23, 25, 27, 29, 31};
  return V16{
      _mm512_castsi512_si256(_mm512_permutexvar_epi16(_mm512_load_si512(kUpper), words.raw))};
#else
  const __m256i upper =
      _mm256_setr_epi8(2, 3, 6, 7, 10, 11, 14, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                       -1, -1, -1, -1, 2, 3, 6, 7, 10, 11, 14, 15);
  return V16{_mm256_castsi256_si128(
      _mm256_permute4x64_epi64(_mm256_shuffle_epi8(words.raw, upper), 0xCC))};
#endif
}

HWY_INLINE V16 ToWords(F16, VF v) {
  return hn::BitCast(D16(), hn::DemoteTo(hn::Rebind<hwy::float16_t, DF>(), v));
}

// The low byte of each word.
HWY_INLINE V8 LowBytes(VU v) {
#if HWY_TARGET <= HWY_AVX3
  return V8{_mm512_cvtepi32_epi8(v.raw)};
#else
  return hn::TruncateTo(D8(), v);
#endif
}

HWY_INLINE V8 ToWords(F8E4M3, VF v) {
  const DU du;
  const F8Steps steps = CountF8Steps(v);
  // The low byte is exponent field << 3 plus steps; 448 is 0x7E, and NaN one more.
  const VU code = hn::Add(hn::BitCast(du, steps.sum), hn::ShiftRight<20>(steps.power));
  const VU is_nan = hn::VecFromMask(du, hn::RebindMask(du, hn::IsNaN(v)));
  const VU sign = hn::And(hn::ShiftRight<24>(hn::BitCast(du, v)), hn::Set(du, 0x80));
  return LowBytes(hn::Or(hn::Sub(code, is_nan), sign));
}

// v clamped to int8's range plus 1.5 * 2^23: the low byte is the rounded integer; NaN gives 0.
HWY_INLINE VF BiasedInt8(VF v) {
  const DF d;
  const VF number = hn::IfThenElseZero(hn::Eq(v, v), v);
  const VF clamped = hn::Min(hn::Max(number, hn::Set(d, -128.0f)), hn::Set(d, 127.0f));
  return hn::Add(clamped, hn::Set(d, 0x1.8p23f));
}

HWY_INLINE V8 ToWords(int8_t, VF v) { return LowBytes(hn::BitCast(DU(), BiasedInt8(v))); }

// ---- Rounding that stays in a register: what a store and a load would return

HWY_INLINE VF RoundTo(float, VF v) { return v; }

HWY_INLINE VF RoundTo(BF16, VF v) {
  return hn::BitCast(DF(), hn::And(BF16InUpperHalf(v), hn::Set(DU(), 0xFFFF0000)));
}

HWY_INLINE VF RoundTo(F16, VF v) { return FromWords(F16(), ToWords(F16(), v)); }

HWY_INLINE VF RoundTo(F8E4M3, VF v) {
  const F8Steps steps = CountF8Steps(v);
  const VF nan = hn::BitCast(DF(), hn::Set(DU(), 0x7FC00000));
  const VF magnitude = hn::Sub(steps.sum, steps.rounder);
  return hn::CopySign(hn::IfThenElse(hn::IsNaN(v), nan, magnitude), v);
}

HWY_INLINE VF RoundTo(int8_t, VF v) { return hn::Sub(BiasedInt8(v), hn::Set(DF(), 0x1.8p23f)); }

template <typename T>
HWY_INLINE VF RoundTo(VF v) {
  return RoundTo(T(), v);
}

// ---- Memory

template <typename T>
HWY_INLINE VF LoadFull(const T* from) {
  const hn::Rebind<WordOf<T>, DF> d;
  return FromWords(T(), hn::LoadU(d, reinterpret_cast<const WordOf<T>*>(from)));
}

template <typename T>
HWY_INLINE VF LoadFirst(const T* from, size_t count) {
  const hn::Rebind<WordOf<T>, DF> d;
  return FromWords(T(), LoadFirstWords(d, reinterpret_cast<const WordOf<T>*>(from), count));
}

template <typename T>
HWY_INLINE void StoreFull(VF v, T* to) {
  const hn::Rebind<WordOf<T>, DF> d;
  hn::StoreU(ToWords(T(), v), d, reinterpret_cast<WordOf<T>*>(to));
}

// Where full vectors are stored: into the caches, or past them where the address is a multiple of
// the stored vector's size. Past them is for calls that move more than the last-level cache holds
// while several threads together use up the memory's bandwidth: a line is then written without
// being read first. Two threads on Zen 4, 4096 rows of 4096: RMS norm of f32 31 -> 47 GB/s, of bf16
// 34 -> 48; layer norm of f32 26 -> 36; rotary embedding of f32 34 -> 60. One thread alone does not
// gain (addition of bf16: 20.3 GB/s either way).
class StorePath {
 public:
  HWY_INLINE explicit StorePath(bool stream) : refused_(stream ? 0 : ~uintptr_t{0}) {}

  template <class D, class V, typename Word>
  HWY_INLINE void Write(V words, D d, Word* to) const {
    constexpr size_t kBytes = hn::MaxLanes(D()) * sizeof(Word);
    // One test of the address serves both: no address passes the mask of a cached store.
    if (kBytes >= 16 && (reinterpret_cast<uintptr_t>(to) & (refused_ | (kBytes - 1))) == 0) {
      hn::Stream(words, d, to);
    } else {
      hn::StoreU(words, d, to);
    }
  }

 private:
  uintptr_t refused_;  // bits that an address must not have
};

template <typename T>
HWY_INLINE void StoreFull(VF v, T* to, StorePath path) {
  const hn::Rebind<WordOf<T>, DF> d;
  path.Write(ToWords(T(), v), d, reinterpret_cast<WordOf<T>*>(to));
}

template <typename T>
HWY_INLINE void StoreFirst(VF v, T* to, size_t count) {
  const hn::Rebind<WordOf<T>, DF> d;
  StoreFirstWords(ToWords(T(), v), d, reinterpret_cast<WordOf<T>*>(to), count);
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENON_BACKEND_CPU_CONVERT_INL_H_
