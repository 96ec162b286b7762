// Interleaved pairs: elements 0, 2, 4 ... of 2 kLanes stored ones in one vector, 1, 3, 5 ... in the
// other (swigluoai's gate and up, GPT-J's rotary pairs). Two neighbours are one word of twice the
// size, so partial forms touch exactly `count` < kLanes words.

#include <cstddef>
#include <cstdint>

#include "backend/cpu/convert-inl.h"

#if defined(TENON_BACKEND_CPU_PAIRS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_BACKEND_CPU_PAIRS_INL_H_
#undef TENON_BACKEND_CPU_PAIRS_INL_H_
#else
#define TENON_BACKEND_CPU_PAIRS_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

// ---- Pairs in words of twice the size

HWY_INLINE void SplitWords(BF16, VU words, VF& even, VF& odd) {
  even = hn::BitCast(DF(), hn::ShiftLeft<16>(words));
  odd = hn::BitCast(DF(), hn::And(words, hn::Set(DU(), 0xFFFF0000)));
}

HWY_INLINE void SplitWords(F16, VU words, VF& even, VF& odd) {
  even = FromWords(F16(), hn::TruncateTo(D16(), words));
  odd = FromWords(F16(), hn::TruncateTo(D16(), hn::ShiftRight<16>(words)));
}

template <typename T>  // F8E4M3, int8_t
HWY_INLINE void SplitWords(T, V16 words, VF& even, VF& odd) {
  even = FromWords(T(), hn::TruncateTo(D8(), words));
  odd = FromWords(T(), hn::TruncateTo(D8(), hn::ShiftRight<8>(words)));
}

HWY_INLINE VU JoinWords(BF16, VF even, VF odd) {
  return hn::Or(hn::ShiftRight<16>(BF16InUpperHalf(even)),
                hn::And(BF16InUpperHalf(odd), hn::Set(DU(), 0xFFFF0000)));
}

HWY_INLINE VU JoinWords(F16, VF even, VF odd) {
  const DU d;
  return hn::Or(hn::PromoteTo(d, ToWords(F16(), even)),
                hn::ShiftLeft<16>(hn::PromoteTo(d, ToWords(F16(), odd))));
}

template <typename T>  // F8E4M3, int8_t
HWY_INLINE V16 JoinWords(T, VF even, VF odd) {
  const D16 d;
  return hn::Or(hn::PromoteTo(d, ToWords(T(), even)),
                hn::ShiftLeft<8>(hn::PromoteTo(d, ToWords(T(), odd))));
}

template <typename T>
using PairWordOf = std::conditional_t<sizeof(T) == 1, uint16_t, uint32_t>;

template <typename T>
HWY_INLINE void LoadPairsFull(const T* from, VF& even, VF& odd) {
  const hn::Rebind<PairWordOf<T>, DF> d;
  SplitWords(T(), hn::LoadU(d, reinterpret_cast<const PairWordOf<T>*>(from)), even, odd);
}

template <typename T>
HWY_INLINE void LoadPairsFirst(const T* from, size_t count, VF& even, VF& odd) {
  const hn::Rebind<PairWordOf<T>, DF> d;
  SplitWords(T(), LoadFirstWords(d, reinterpret_cast<const PairWordOf<T>*>(from), count), even,
             odd);
}

template <typename T>
HWY_INLINE void StorePairsFull(VF even, VF odd, T* to) {
  const hn::Rebind<PairWordOf<T>, DF> d;
  hn::StoreU(JoinWords(T(), even, odd), d, reinterpret_cast<PairWordOf<T>*>(to));
}

template <typename T>
HWY_INLINE void StorePairsFirst(VF even, VF odd, T* to, size_t count) {
  const hn::Rebind<PairWordOf<T>, DF> d;
  StoreFirstWords(JoinWords(T(), even, odd), d, reinterpret_cast<PairWordOf<T>*>(to), count);
}

// ---- float: two whole vectors

HWY_INLINE void SplitVectors(VF low, VF high, VF& even, VF& odd) {
  even = hn::ConcatEven(DF(), high, low);
  odd = hn::ConcatOdd(DF(), high, low);
}

HWY_INLINE void LoadPairsFull(const float* from, VF& even, VF& odd) {
  SplitVectors(hn::LoadU(DF(), from), hn::LoadU(DF(), from + kLanes), even, odd);
}

HWY_INLINE void LoadPairsFirst(const float* from, size_t count, VF& even, VF& odd) {
  const size_t low = HWY_MIN(2 * count, kLanes);
  SplitVectors(LoadFirst(from, low), LoadFirst(from + low, 2 * count - low), even, odd);
}

HWY_INLINE void StorePairsFull(VF even, VF odd, float* to) {
  hn::StoreInterleaved2(even, odd, DF(), to);
}

HWY_INLINE void StorePairsFirst(VF even, VF odd, float* to, size_t count) {
  HWY_ALIGN float pairs[2 * kLanes];
  hn::StoreInterleaved2(even, odd, DF(), pairs);
  const size_t low = HWY_MIN(2 * count, kLanes);
  StoreFirst(hn::Load(DF(), pairs), to, low);
  StoreFirst(hn::Load(DF(), pairs + kLanes), to + low, 2 * count - low);
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENON_BACKEND_CPU_PAIRS_INL_H_
