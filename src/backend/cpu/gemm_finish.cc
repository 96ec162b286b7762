// Computes  C[row, columns] = round(act(sum + bias) + residual), or act(gate) * up of two sums
// Traffic   reads bias and residual, writes C once
// Mapping   one call per row of a tile; kernels keep sums in a buffer of the first-level cache
// Numerics  float32, one rounding
// Limits    at most kFinishColumns columns
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/gemm_finish.cc"
#include "backend/cpu/foreach_target.h"
#include "backend/cpu/gemm_parts.h"
#include "backend/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

HWY_INLINE VF SiluOf(VF x, float alpha) { return hn::Mul(x, Sigmoid(hn::Mul(x, Splat(alpha)))); }

HWY_INLINE VF GeluTanhOf(VF x) {
  const VF cubic = hn::MulAdd(hn::Mul(hn::Mul(x, x), x), Splat(0.044715f), x);
  const VF half = hn::Mul(Splat(0.5f), x);
  return hn::MulAdd(half, Tanh(hn::Mul(Splat(0.7978845608f), cubic)), half);
}

HWY_INLINE VF GeluOf(VF x) {
  const VF half = hn::Mul(Splat(0.5f), x);
  return hn::MulAdd(half, Erf(hn::Mul(x, Splat(0.7071067812f))), half);
}

// One switch per row, not per vector.
template <typename Fn>
HWY_INLINE void Activate(Act act, float* HWY_RESTRICT sums, size_t count, Fn combine) {
  const auto each = [&](auto fn) HWY_ATTR {
    for (size_t i = 0; i < count; i += kLanes) {
      hn::StoreU(combine(fn(hn::LoadU(DF(), sums + i)), i), DF(), sums + i);
    }
  };
  switch (act) {
    case Act::kNone:
      return each([](VF x) HWY_ATTR { return x; });
    case Act::kSilu:
      return each([](VF x) HWY_ATTR { return SiluOf(x, 1.0f); });
    case Act::kGelu:
      return each([](VF x) HWY_ATTR { return GeluOf(x); });
    case Act::kGeluTanh:
      return each([](VF x) HWY_ATTR { return GeluTanhOf(x); });
    case Act::kGeluQuick:
      return each([](VF x) HWY_ATTR { return SiluOf(x, 1.702f); });
    case Act::kRelu:
      return each([](VF x) HWY_ATTR { return Maximum(x, hn::Zero(DF())); });
    case Act::kRelu2:
      return each([](VF x) HWY_ATTR {
        const VF positive = Maximum(x, hn::Zero(DF()));
        return hn::Mul(positive, positive);
      });
    case Act::kSigmoid:
      return each([](VF x) HWY_ATTR { return Sigmoid(x); });
    case Act::kSwigluOai:
      return each([](VF x) HWY_ATTR { return SiluOf(Minimum(x, Splat(7.0f)), 1.702f); });
  }
}

template <typename T>
HWY_INLINE void ReadStrided(const void* from, int64_t step, size_t count, float* HWY_RESTRICT to) {
  const T* in = static_cast<const T*>(from);
  if (step == 1) {
    size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) hn::StoreU(LoadFull(in + i), DF(), to + i);
    if (i < count) hn::StoreU(LoadFirst(in + i, count - i), DF(), to + i);
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    to[i] = hn::GetLane(LoadFirst(in + static_cast<int64_t>(i) * step, 1));
  }
}

void Read(DType dtype, const void* from, int64_t step, size_t count, float* HWY_RESTRICT to) {
  switch (dtype) {
    case DType::kF32:
      return ReadStrided<float>(from, step, count, to);
    case DType::kF16:
      return ReadStrided<F16>(from, step, count, to);
    default:
      return ReadStrided<BF16>(from, step, count, to);
  }
}

template <typename T>
HWY_INLINE void WriteStrided(const float* HWY_RESTRICT from, int64_t step, size_t count, void* to) {
  T* out = static_cast<T*>(to);
  if (step == 1) {
    size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) StoreFull(hn::LoadU(DF(), from + i), out + i);
    if (i < count) StoreFirst(hn::LoadU(DF(), from + i), out + i, count - i);
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    StoreFirst(Splat(from[i]), out + static_cast<int64_t>(i) * step, 1);
  }
}

void Write(DType dtype, const float* HWY_RESTRICT from, int64_t step, size_t count, void* to) {
  switch (dtype) {
    case DType::kF32:
      return WriteStrided<float>(from, step, count, to);
    case DType::kF16:
      return WriteStrided<F16>(from, step, count, to);
    default:
      return WriteStrided<BF16>(from, step, count, to);
  }
}

void AddBias(const Gemm& gemm, int64_t column, bool up, size_t count, float* sums) {
  alignas(64) float bias[kFinishColumns];
  const int64_t first = RowOfB(gemm, column, up) * gemm.bias_step;
  const int64_t step = gemm.bias_step * (gemm.gate == Gate::kInterleaved ? 2 : 1);
  const int64_t item = gemm.bias_dtype == DType::kF32 ? 4 : 2;
  Read(gemm.bias_dtype, static_cast<const char*>(gemm.bias) + first * item, step, count, bias);
  for (size_t i = 0; i < count; i += kLanes) {
    hn::StoreU(hn::Add(hn::LoadU(DF(), sums + i), hn::LoadU(DF(), bias + i)), DF(), sums + i);
  }
}

HWY_INLINE void CopyVectors(const float* from, size_t count, float* HWY_RESTRICT to) {
  for (size_t i = 0; i < count; i += kLanes) hn::Store(hn::LoadU(DF(), from + i), DF(), to + i);
}

HWY_FLATTEN void Finish(const Gemm& gemm, int64_t batch, int64_t row, int64_t column, size_t count,
                        const float* given, const float* given_up) {
  void* const to = const_cast<char*>(At(gemm.c, gemm.dtype, batch, row, column));
  if (gemm.bias == nullptr && gemm.act == Act::kNone && gemm.gate == Gate::kNone &&
      gemm.residual.data == nullptr) {
    return Write(gemm.dtype, given, gemm.c.column, count, to);
  }
  alignas(64) float sums[kFinishColumns];
  alignas(64) float up[kFinishColumns];
  CopyVectors(given, count, sums);
  if (gemm.bias != nullptr) AddBias(gemm, column, false, count, sums);
  if (gemm.gate == Gate::kNone) {
    if (gemm.act != Act::kNone) {
      Activate(gemm.act, sums, count, [](VF x, size_t) HWY_ATTR { return x; });
    }
  } else {
    CopyVectors(given_up, count, up);
    if (gemm.bias != nullptr) AddBias(gemm, column, true, count, up);
    if (gemm.act == Act::kSwigluOai) {
      Activate(gemm.act, sums, count, [&](VF x, size_t i) HWY_ATTR {
        const VF raw = hn::LoadU(DF(), up + i);
        const VF bounded = Maximum(Minimum(raw, Splat(7.0f)), Splat(-7.0f));
        return hn::Mul(hn::Add(bounded, Splat(1.0f)), x);
      });
    } else if (gemm.act == Act::kRelu2) {
      // The square of a large gate overflows; times an `up` of 0 it would be NaN.
      Activate(Act::kRelu, sums, count, [&](VF x, size_t i) HWY_ATTR {
        return hn::Mul(x, hn::Mul(x, hn::LoadU(DF(), up + i)));
      });
    } else {
      Activate(gemm.act, sums, count,
               [&](VF x, size_t i) HWY_ATTR { return hn::Mul(x, hn::LoadU(DF(), up + i)); });
    }
  }
  if (gemm.residual.data != nullptr) {
    Read(gemm.dtype, At(gemm.residual, gemm.dtype, batch, row, column), gemm.residual.column, count,
         up);
    for (size_t i = 0; i < count; i += kLanes) {
      hn::StoreU(hn::Add(hn::LoadU(DF(), sums + i), hn::LoadU(DF(), up + i)), DF(), sums + i);
    }
  }
  Write(gemm.dtype, sums, gemm.c.column, count, to);
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "backend/cpu/targets.h"

namespace tenon::cpu {

void FinishRow(const Gemm& gemm, int64_t batch, int64_t row, int64_t column, int64_t count,
               const float* sums, const float* up) {
  static constexpr TargetTable<void(const Gemm&, int64_t, int64_t, int64_t, size_t, const float*,
                                    const float*)>
      kFinish = {HWY_CHOOSE_AVX2(Finish), HWY_CHOOSE_AVX3(Finish)};
  kFinish.Chosen()(gemm, batch, row, column, static_cast<size_t>(count), sums, up);
}

}  // namespace tenon::cpu
#endif  // HWY_ONCE
