// Computes  sums of rows, and of columns
// Traffic   every element once
// Mapping   the caller's; of columns, the virtual lanes of row-inl.h are rows of scratch in L1
// Numerics  float32
// Limits    none
#include "backend/cpu/sums.h"

#include "base/dtype.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/sums.cc"
#include "backend/cpu/foreach_target.h"
#include "backend/cpu/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

template <typename T>
HWY_FLATTEN float SumOfRow(const T* x, size_t count) {
  SumAccumulator sum;
  ForEachBlock(count, [&](auto c) HWY_ATTR { sum.Add(c, Load(c, x)); });
  return sum.TotalScalar();
}

HWY_FLATTEN void AddInto(float* to, const float* from, size_t count) {
  ForEachChunk(count, [&](auto c) HWY_ATTR { Store(c, hn::Add(Load(c, to), Load(c, from)), to); });
}

template <typename T>
HWY_FLATTEN void SumsOfColumns(const T* x, int64_t count, int64_t stride, size_t columns,
                               float* sums) {
  constexpr auto kVirtualLanes = static_cast<int64_t>(kBlock);
  // Lanes that get no element are zeros, which change no sum.
  const int64_t used = HWY_MIN(HWY_MAX(count, 1), kVirtualLanes);
  float* const lanes = ScratchRow(0, kBlock * kSumColumns);
  for (int64_t i = 0; i < used * kSumColumns; ++i) lanes[i] = 0;
  for (int64_t k = 0; k < count; ++k) {
    float* const lane = lanes + k % kVirtualLanes * kSumColumns;
    const T* const row = x + k * stride;
    ForEachChunk(columns,
                 [&](auto c) HWY_ATTR { Store(c, hn::Add(Load(c, lane), Load(c, row)), lane); });
  }
  for (int64_t half = kVirtualLanes / 2; half > 0; half /= 2) {
    for (int64_t lane = 0; lane < half && lane + half < used; ++lane) {
      AddInto(lanes + lane * kSumColumns, lanes + (lane + half) * kSumColumns, columns);
    }
  }
  for (size_t i = 0; i < columns; ++i) sums[i] = lanes[i];
}

// fn(pointer to its type), of the types that can be summed.
template <typename Fn>
void OfType(const void* x, DType dtype, Fn&& fn) {
  VisitDtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, F16> || std::is_same_v<T, BF16>) {
      fn(static_cast<const T*>(x));
    }
  });
}

float Row(const void* x, DType dtype, int64_t count) {
  float sum = 0;
  OfType(x, dtype, [&](const auto* row) { sum = SumOfRow(row, static_cast<size_t>(count)); });
  return sum;
}

void Columns(const void* x, DType dtype, int64_t count, int64_t stride, int64_t columns,
             float* sums) {
  OfType(x, dtype, [&](const auto* first) {
    SumsOfColumns(first, count, stride, static_cast<size_t>(columns), sums);
  });
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "backend/cpu/targets.h"

namespace tenon::cpu {
namespace {

constexpr TargetTable<float(const void*, DType, int64_t)> kRow = {HWY_CHOOSE_AVX2(Row),
                                                                  HWY_CHOOSE_AVX3(Row)};
constexpr TargetTable<void(const void*, DType, int64_t, int64_t, int64_t, float*)> kColumns = {
    HWY_CHOOSE_AVX2(Columns), HWY_CHOOSE_AVX3(Columns)};

}  // namespace

float RowSum(const void* x, DType dtype, int64_t count) { return kRow.Chosen()(x, dtype, count); }

void ColumnSums(const void* x, DType dtype, int64_t count, int64_t stride, int64_t columns,
                float* sums) {
  kColumns.Chosen()(x, dtype, count, stride, columns, sums);
}

}  // namespace tenon::cpu
#endif  // HWY_ONCE
