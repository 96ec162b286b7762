// Functions on vectors of float32, with the same bits on every target.
//
// Errors are in units in the last place against exact arithmetic, over all inputs (tests/backend):
//   Exp 1, Log 1, Sin and Cos 1, Tanh 2, Erf 1, Sigmoid 2; Sqrt, Rsqrt's two steps and Div are
//   IEEE.
// NaN gives NaN. Overflow gives Inf, underflow denormals and then 0 (Sigmoid: below 2^-126 0, as
// 1 / (1 + Exp(-x)) does). Fused multiply-adds below are explicit; contraction stays off.

#include <cmath>
#include <cstddef>

#include "backend/cpu/convert-inl.h"

#if defined(TENON_BACKEND_CPU_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_BACKEND_CPU_MATH_INL_H_
#undef TENON_BACKEND_CPU_MATH_INL_H_
#else
#define TENON_BACKEND_CPU_MATH_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

// The rest is Highway's, found by argument-dependent look-up: + - * / MulAdd Neg Abs Sqrt Floor
// Round (half to even) Lt Le Eq IsNaN IfThenElse. Not its Min, Max and Clamp: their NaN depends on
// the order of arguments.

HWY_INLINE VF Splat(float value) { return hn::Set(DF(), value); }
HWY_INLINE VF Rsqrt(VF v) { return hn::Div(Splat(1.0f), hn::Sqrt(v)); }

// ---- Minimum and maximum, after IEEE 754-2019
// x86's minps(a, b) and maxps(a, b) return b when an operand is NaN and when both are zeros.

// NaN when either is NaN; -0 < +0.
template <class V>
HWY_INLINE V Minimum(V a, V b) {
  // The two orders differ only for zeros (or: -0 wins) and NaN (or: exponent all ones, NaN).
  return hn::Or(hn::Min(a, b), hn::Min(b, a));
}
template <class V>
HWY_INLINE V Maximum(V a, V b) {
  return hn::Neg(Minimum(hn::Neg(a), hn::Neg(b)));
}

// The same in one instruction for a bound that is neither NaN nor zero.
HWY_INLINE VF BoundAbove(VF v, VF high) { return hn::Min(high, v); }
HWY_INLINE VF BoundBelow(VF v, VF low) { return hn::Max(low, v); }

// The accumulator when v is NaN: for amax, whose accumulator starts at a number.
template <class V>
HWY_INLINE V MaximumNumber(V v, V accumulator) {
  return hn::Max(v, accumulator);
}

// ---- Exponential family
// e^x = 2^k e^r with k = round(x / ln 2) and |r| <= ln(2) / 2.

// Adding it rounds a small float to an integer, which is then in the low bits of the sum; one less
// than 1.5 * 2^23, so that the low bits hold k - 1.
inline constexpr float kRounder = 0x1.7FFFFEp23f;

struct ExpParts {
  VF rounded;  // k + kRounder
  VF k;
  VF r;
};

HWY_INLINE ExpParts SplitExp(VF x) {
  const VF rounded = hn::MulAdd(x, Splat(0x1.715476p+0f), Splat(kRounder));
  const VF k = hn::Sub(rounded, Splat(kRounder));
  const VF r = hn::NegMulAdd(k, Splat(0x1.62e430p-1f), x);  // ln 2 in two parts
  return {rounded, k, hn::NegMulAdd(k, Splat(-0x1.05c610p-29f), r)};
}

// SplitExp(-x), with the sign in the constants.
HWY_INLINE ExpParts SplitExpOfNegative(VF x) {
  const VF rounded = hn::MulAdd(x, Splat(-0x1.715476p+0f), Splat(kRounder));
  const VF k = hn::Sub(rounded, Splat(kRounder));
  const VF r = hn::NegMulSub(k, Splat(0x1.62e430p-1f), x);
  return {rounded, k, hn::NegMulAdd(k, Splat(-0x1.05c610p-29f), r)};
}

// Minimax for (e^r - 1 - r) / r^2, so that 1 + r + r^2 q(r) is within 2^-28.9 of e^r.
HWY_INLINE VF ExpTail(VF r) {
  VF q = hn::MulAdd(Splat(0x1.6ae798p-10f), r, Splat(0x1.126792p-7f));
  q = hn::MulAdd(q, r, Splat(0x1.555822p-5f));
  q = hn::MulAdd(q, r, Splat(0x1.55541ap-3f));
  return hn::MulAdd(q, r, Splat(0x1.fffffcp-2f));
}

HWY_INLINE VF ExpOfRemainder(VF r) {
  const VF one = Splat(1.0f);
  return hn::MulAdd(hn::MulAdd(ExpTail(r), r, one), r, one);
}

// 2^(k - 1) for -125 <= k <= 128.
HWY_INLINE VF HalfPowerOfTwo(VF rounded) {
  const DI d;
  const VI exponent = hn::ShiftLeft<23>(hn::BitCast(d, rounded));
  return hn::BitCast(DF(), hn::Add(exponent, hn::Set(d, 0x3F800000)));
}

HWY_INLINE VF Exp(VF x) {
  // Beyond the bounds the result is Inf or 0; a NaN in the second operand passes.
  const VF clamped = hn::Min(Splat(89.0f), hn::Max(Splat(-104.0f), x));
  const ExpParts parts = SplitExp(clamped);
  const VF p = ExpOfRemainder(parts.r);
#if HWY_TARGET <= HWY_AVX3
  return VF{_mm512_scalef_ps(p.raw, parts.k.raw)};
#else
  // -150 <= k <= 128, beyond the normal powers at both ends: two factors, the first one exact.
  const DI d;
  const VI k = hn::Sub(hn::BitCast(d, parts.rounded), hn::Set(d, 0x4B3FFFFF));
  const VI half = hn::ShiftRight<1>(k);
  const VI bias = hn::Set(d, 127);
  const VF first = hn::BitCast(DF(), hn::ShiftLeft<23>(hn::Add(half, bias)));
  const VF second = hn::BitCast(DF(), hn::ShiftLeft<23>(hn::Add(hn::Sub(k, half), bias)));
  return hn::Mul(hn::Mul(p, first), second);
#endif
}

// 1 / (1 + e^-x).
HWY_INLINE VF Sigmoid(VF x) {
  // Above 80 the exponential vanishes against 1; below -89 it is Inf and the result 0.
  const VF clamped = hn::Min(Splat(80.0f), hn::Max(Splat(-89.0f), x));
  const ExpParts parts = SplitExpOfNegative(clamped);
  const VF p = ExpOfRemainder(parts.r);
#if HWY_TARGET <= HWY_AVX3
  const VF denominator = hn::Add(VF{_mm512_scalef_ps(p.raw, parts.k.raw)}, Splat(1.0f));
#else
  // Half of e^-x has a normal power of two; doubling is exact inside the multiply-add.
  const VF half = hn::Mul(p, HalfPowerOfTwo(parts.rounded));
  const VF denominator = hn::MulAdd(half, Splat(2.0f), Splat(1.0f));
#endif
  return hn::Div(Splat(1.0f), denominator);
}

// With m = e^2|x| - 1: m / (m + 2), no cancellation near 0.
HWY_INLINE VF Tanh(VF x) {
  const VF magnitude = hn::Min(Splat(10.0f), hn::Abs(x));  // 1 from 9.01 on
  const ExpParts parts = SplitExp(hn::Add(magnitude, magnitude));
  const VF half = HalfPowerOfTwo(parts.rounded);
  const VF scale = hn::Add(half, half);
  const VF m_of_r = hn::MulAdd(hn::Mul(parts.r, parts.r), ExpTail(parts.r), parts.r);
  const VF m = hn::MulAdd(scale, m_of_r, hn::Sub(scale, Splat(1.0f)));
  return hn::CopySign(hn::Div(m, hn::Add(m, Splat(2.0f))), x);
}

// Below 1 an odd polynomial; above, 1 - e^g(|x|) with g a polynomial for log(erfc).
HWY_INLINE VF Erf(VF x) {
  const VF a = hn::Min(Splat(4.0f), hn::Abs(x));  // 1 from 3.92 on
  const VF t = hn::Mul(a, a);
  VF near = hn::MulAdd(Splat(0x1.496a3ep-14f), t, Splat(-0x1.a3f702p-11f));
  near = hn::MulAdd(near, t, Splat(0x1.5405b2p-8f));
  near = hn::MulAdd(near, t, Splat(-0x1.b7f90cp-6f));
  near = hn::MulAdd(near, t, Splat(0x1.ce2cf8p-4f));
  near = hn::MulAdd(near, t, Splat(-0x1.81273ep-2f));
  near = hn::MulAdd(near, t, Splat(0x1.06eba8p-3f));  // 2 / sqrt(pi) - 1
  near = hn::MulAdd(near, a, a);
  VF g = hn::MulAdd(Splat(0x1.852b7cp-13f), a, Splat(-0x1.814bc4p-9f));
  g = hn::MulAdd(g, a, Splat(0x1.65419ap-6f));
  g = hn::MulAdd(g, a, Splat(-0x1.a60a3cp-4f));
  g = hn::MulAdd(g, a, Splat(-0x1.46c58ep-1f));
  g = hn::MulAdd(g, a, Splat(-0x1.2085b0p+0f));
  g = hn::MulAdd(g, a, Splat(-0x1.72f1f6p-12f));
  const ExpParts parts = SplitExp(g);
  const VF p = ExpOfRemainder(parts.r);
  const VF half = HalfPowerOfTwo(parts.rounded);
  const VF far = hn::NegMulAdd(hn::Add(p, p), half, Splat(1.0f));
  return hn::CopySign(hn::IfThenElse(hn::Ge(a, Splat(1.0f)), far, near), x);
}

// ---- Logarithm
// x = 2^e m with sqrt(1/2) <= m < sqrt(2), f = m - 1: log m = f - f^2 / 2 + f^3 p(f).

HWY_INLINE VF Log(VF x) {
  const DI di;
  const DF d;
  const MF is_denormal = hn::Lt(x, Splat(0x1p-126f));
  const VF scaled = hn::IfThenElse(is_denormal, hn::Mul(x, Splat(0x1p23f)), x);
  const VI bits = hn::BitCast(di, scaled);
  const VI exponent = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, 0x3F3504F3)));  // sqrt(1/2)
  const VF m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(exponent)));
  const VF e = hn::Sub(hn::ConvertTo(d, exponent), hn::IfThenElseZero(is_denormal, Splat(23.0f)));
  const VF f = hn::Sub(m, Splat(1.0f));
  const VF f2 = hn::Mul(f, f);
  VF p = hn::MulAdd(Splat(-0x1.41eda6p-4f), f, Splat(0x1.07d0dap-3f));
  p = hn::MulAdd(p, f, Splat(-0x1.0ce084p-3f));
  p = hn::MulAdd(p, f, Splat(0x1.226e4ep-3f));
  p = hn::MulAdd(p, f, Splat(-0x1.54788ap-3f));
  p = hn::MulAdd(p, f, Splat(0x1.99a596p-3f));
  p = hn::MulAdd(p, f, Splat(-0x1.000220p-2f));
  p = hn::MulAdd(p, f, Splat(0x1.55554ap-2f));
  // ln 2 in two parts; e times the first is exact.
  VF low = hn::MulAdd(e, Splat(-0x1.bd0106p-13f), hn::Mul(hn::Mul(f2, f), p));
  low = hn::NegMulAdd(Splat(0.5f), f2, low);
  const VF finite = hn::MulAdd(e, Splat(0x1.63p-1f), hn::Add(f, low));
  const VF infinity = hn::BitCast(d, hn::Set(di, 0x7F800000));
  const VF nan = hn::BitCast(d, hn::Set(di, 0x7FC00000));
  VF result = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(infinity), finite);
  result = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), nan, result);
  result = hn::IfThenElse(hn::Eq(x, infinity), x, result);
  return hn::IfThenElse(hn::IsNaN(x), hn::Add(x, x), result);
}

// ---- Sine and cosine
// In double: x = k pi/2 + r with pi/2 in two parts, exact enough below 2^40; larger lanes go
// through libm. Meant for tables; a float reduction would need three parts and lose the last bit.

using DD = hn::RepartitionToWide<DF>;
using VD = hn::Vec<DD>;

// sin(x) for quarter_offset 0, cos(x) for 1.
template <int quarter_offset>
HWY_INLINE VD SinOrCosInDouble(VD x) {
  const DD d;
  const hn::RebindToSigned<DD> di;
  const VD magic = hn::Set(d, 0x1.8p52);
  const VD shifted = hn::MulAdd(x, hn::Set(d, 0x1.45f306dc9c883p-1), magic);
  const VD k = hn::Sub(shifted, magic);
  const VD near = hn::NegMulAdd(k, hn::Set(d, 0x1.921fb54442d18p+0), x);
  const VD r = hn::NegMulAdd(k, hn::Set(d, 0x1.1a62633145c07p-54), near);
  const VD t = hn::Mul(r, r);
  VD s = hn::MulAdd(hn::Set(d, -0x1.994e5cp-13), t, hn::Set(d, 0x1.110760p-7));
  s = hn::MulAdd(s, t, hn::Set(d, -0x1.555546p-3));
  s = hn::CopySign(hn::MulAdd(hn::Mul(r, t), s, r), r);  // the sign of -0
  VD c = hn::MulAdd(hn::Set(d, 0x1.9a020cp-16), t, hn::Set(d, -0x1.6c0c8ap-10));
  c = hn::MulAdd(c, t, hn::Set(d, 0x1.55554ap-5));
  c = hn::MulAdd(hn::Mul(t, t), c, hn::NegMulAdd(hn::Set(d, 0.5), t, hn::Set(d, 1.0)));
  const auto quadrant = hn::Add(hn::BitCast(di, shifted), hn::Set(di, quarter_offset));
  const auto one = hn::Set(di, 1);
  const auto odd = hn::RebindMask(d, hn::Eq(hn::And(quadrant, one), one));
  const VD sign = hn::BitCast(d, hn::ShiftLeft<62>(hn::And(quadrant, hn::Set(di, 2))));
  return hn::Xor(hn::IfThenElse(odd, c, s), sign);
}

template <int quarter_offset>
HWY_INLINE VF SinOrCos(VF x) {
  const DF d;
  const hn::Half<DF> dh;
  const VD low = SinOrCosInDouble<quarter_offset>(hn::PromoteTo(DD(), hn::LowerHalf(dh, x)));
  const VD high = SinOrCosInDouble<quarter_offset>(hn::PromoteTo(DD(), hn::UpperHalf(dh, x)));
  const VF result = hn::Combine(d, hn::DemoteTo(dh, high), hn::DemoteTo(dh, low));
  const MF is_large = hn::Ge(hn::Abs(x), Splat(0x1p40f));
  if (HWY_LIKELY(hn::AllFalse(d, is_large))) return result;
  HWY_ALIGN float lanes[kLanes];
  hn::Store(x, d, lanes);
  for (float& lane : lanes) {
    const double wide = lane;
    lane = static_cast<float>(quarter_offset == 0 ? std::sin(wide) : std::cos(wide));
  }
  return hn::IfThenElse(is_large, hn::Load(d, lanes), result);
}

HWY_INLINE VF Sin(VF x) { return SinOrCos<0>(x); }
HWY_INLINE VF Cos(VF x) { return SinOrCos<1>(x); }

// ---- Powers of two as scales

// The smallest power of two that is not below v > 0, but at least 2^-126. 0 stays 0.
HWY_INLINE VF Pow2Ceil(VF v) {
  const DI di;
  const VI bits = hn::Add(hn::BitCast(di, v), hn::Set(di, 0x007FFFFF));
  const VF power = hn::BitCast(DF(), hn::And(bits, hn::Set(di, 0x7F800000)));
  return hn::IfThenElse(hn::IsNaN(v), v, power);
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENON_BACKEND_CPU_MATH_INL_H_
