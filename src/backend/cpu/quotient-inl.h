// Quotients by one divisor that are stored as int8: two multiplications in place of a division.
//
// With r + s = 1 / d (r the nearest float, s what it lacks), q = fma(x, r, x * s) is off the exact
// quotient by half an ulp and 2^-23 of one: the nearest float, except where the exact quotient lies
// that close to the middle between two. Rounded to an integer the two agree for every x and every
// mantissa of d but all ones, up to a magnitude of 127.5 (tests/backend tries them all); beyond it
// both saturate. Zen 5, one row of 4096 float32 in L1: 240 -> 120 ns.

#include <bit>
#include <cstddef>
#include <cstdint>

#include "backend/cpu/row-inl.h"

#if defined(TENON_BACKEND_CPU_QUOTIENT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_BACKEND_CPU_QUOTIENT_INL_H_
#undef TENON_BACKEND_CPU_QUOTIENT_INL_H_
#else
#define TENON_BACKEND_CPU_QUOTIENT_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

// 1 / d in two parts, where multiplying by them serves.
struct Divisor {
  // The same number in every lane. With `divides` all quotients are divisions.
  HWY_INLINE Divisor(VF divisor, bool divides)
      : reciprocal(hn::Div(Splat(1.0f), divisor)),
        rest(hn::Mul(hn::NegMulAdd(reciprocal, divisor, Splat(1.0f)), reciprocal)) {
    const float d = hn::GetLane(divisor);
    // Far from where the products or a quotient near 1 would leave the normal range.
    const bool is_moderate = d > 0x1p-60f && d < 0x1p60f;
    constexpr uint32_t kMantissa = 0x007FFFFF;
    multiplies = is_moderate && !divides && (std::bit_cast<uint32_t>(d) & kMantissa) != kMantissa;
  }

  // A parameter of which the caller passes one number for all lanes, or one for each: those are
  // divided by.
  HWY_INLINE Divisor(const float* param, bool is_one, bool divides)
      : Divisor(Splat(*param), divides || !is_one) {}

  HWY_INLINE VF Quotient(VF v) const { return hn::MulAdd(v, reciprocal, hn::Mul(v, rest)); }

  VF reciprocal;
  VF rest;
  bool multiplies;
};

inline constexpr size_t kQuotientVectors = 4;  // of floats, whose bytes are one vector

using DBytes = hn::ScalableTag<uint8_t>;

// int8 of quotients below 2^30, in order; -Inf and the like become -128.
HWY_INLINE hn::Vec<DBytes> QuotientBytes(VF q0, VF q1, VF q2, VF q3) {
#if HWY_TARGET <= HWY_AVX3
  const auto to_words = [](VF a, VF b) HWY_ATTR {
    return _mm512_packs_epi32(_mm512_cvtps_epi32(a.raw), _mm512_cvtps_epi32(b.raw));
  };
  // Packing works on 128 bits at a time: the fourth parts of each vector lie together.
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i bytes = _mm512_packs_epi16(to_words(q0, q1), to_words(q2, q3));
  return hn::Vec<DBytes>{_mm512_permutexvar_epi32(order, bytes)};
#else
  const auto to_words = [](VF a, VF b) HWY_ATTR {
    return _mm256_packs_epi32(_mm256_cvtps_epi32(a.raw), _mm256_cvtps_epi32(b.raw));
  };
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const __m256i bytes = _mm256_packs_epi16(to_words(q0, q1), to_words(q2, q3));
  return hn::Vec<DBytes>{_mm256_permutevar8x32_epi32(bytes, order)};
#endif
}

// False when a quotient is NaN or too large for a conversion to i32; nothing has been stored then.
template <class Dividend>
HWY_INLINE bool StoreQuotients(size_t i, const Divisor& divisor, int8_t* to, StorePath path,
                               const Dividend& dividend) {
  const VF q0 = divisor.Quotient(dividend(FullChunk<>{i}));
  const VF q1 = divisor.Quotient(dividend(FullChunk<>{i + kLanes}));
  const VF q2 = divisor.Quotient(dividend(FullChunk<>{i + 2 * kLanes}));
  const VF q3 = divisor.Quotient(dividend(FullChunk<>{i + 3 * kLanes}));
  const VF limit = Splat(0x1p30f);
  const MF first_fit = hn::And(hn::Lt(q0, limit), hn::Lt(q1, limit));
  const MF last_fit = hn::And(hn::Lt(q2, limit), hn::Lt(q3, limit));
  if (!hn::AllTrue(DF(), hn::And(first_fit, last_fit))) return false;
  path.Write(QuotientBytes(q0, q1, q2, q3), DBytes(), reinterpret_cast<uint8_t*>(to + i));
  return true;
}

// Stores dividend(c) / divisor at `to` for each chunk; divide(c, dividend(c)) stores a chunk that
// must be divided.
template <class Dividend, class Divide>
HWY_INLINE void ForEachQuotient(size_t n, const Divisor& by, int8_t* to, StorePath path,
                                const Dividend& dividend, const Divide& divide) {
  constexpr size_t kStep = kQuotientVectors * kLanes;
  const Divisor divisor = by;  // in registers
  const size_t whole = n - n % kLanes;
  for (size_t i = 0; i != whole;) {
    while (divisor.multiplies && i + kStep <= whole &&
           StoreQuotients(i, divisor, to, path, dividend)) {
      i += kStep;
    }
    const size_t end = HWY_MIN(whole, i + kStep);
    for (; i != end; i += kLanes) divide(FullChunk<>{i}, dividend(FullChunk<>{i}));
  }
  if (whole != n) {
    const TailChunk<> tail{whole, n - whole};
    divide(tail, dividend(tail));
  }
}

// The same where the dividend takes long: some are computed before the first of them is divided.
template <class Dividend, class Divide>
HWY_INLINE void ForEachStagedQuotient(size_t n, const Divisor& divisor, int8_t* to, StorePath path,
                                      const Dividend& dividend, const Divide& divide) {
  HWY_ALIGN float staged[kStage];
  const size_t whole = n - n % kLanes;
  for (size_t i = 0; i != whole;) {
    const size_t count = HWY_MIN(kStage, whole - i);
    for (size_t j = 0; j != count; j += kLanes) {
      hn::Store(dividend(FullChunk<>{i + j}), DF(), staged + j);
    }
    ForEachQuotient(
        count, divisor, to + i, path, [&](auto c) HWY_ATTR { return Load(c, staged); },
        [&](auto c, VF v) HWY_ATTR { divide(FullChunk<>{i + c.index}, v); });
    i += count;
  }
  if (whole != n) {
    const TailChunk<> tail{whole, n - whole};
    divide(tail, dividend(tail));
  }
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENON_BACKEND_CPU_QUOTIENT_INL_H_
