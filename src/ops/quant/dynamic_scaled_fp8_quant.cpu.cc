// Computes  scale = max(max|x|, 1e-10) / 448 over the whole tensor; q = clamp(x / scale, -448, 448)
// Traffic   reads x twice, writes q once
// Mapping   rows over threads, twice: the largest magnitude of each, then static_scaled_fp8_quant
// Numerics  float32; a maximum does not depend on the order
// Limits    rows without unit stride are copied first
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/quant/dynamic_scaled_fp8_quant.cpu.cc"
#include "backend/cpu/foreach_target.h"
#include "backend/cpu/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

template <typename T>
HWY_FLATTEN float RowAmax(const void* row, size_t n) {
  AmaxAccumulator amax;
  ForEachBlock(n, [&](auto c) HWY_ATTR { amax.Add(c, Load(c, static_cast<const T*>(row))); });
  return amax.TotalScalar();
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <array>
#include <mutex>

#include "backend/cpu/parallel.h"
#include "backend/cpu/targets.h"
#include "base/dtype.h"
#include "ops/dense.h"
#include "ops/dispatch.h"
#include "ops/structural.h"

namespace tenon::ops::quant {
namespace {

using RowAmaxTable = cpu::TargetTable<float(const void*, size_t)>;

const RowAmaxTable& RowAmaxOf(DType dtype) {
  using namespace cpu;  // NOLINT: the macros name its namespaces
  static constexpr RowAmaxTable kTables[] = {
      {HWY_CHOOSE_AVX2(RowAmax<float>), HWY_CHOOSE_AVX3(RowAmax<float>)},
      {HWY_CHOOSE_AVX2(RowAmax<F16>), HWY_CHOOSE_AVX3(RowAmax<F16>)},
      {HWY_CHOOSE_AVX2(RowAmax<BF16>), HWY_CHOOSE_AVX3(RowAmax<BF16>)}};
  return kTables[static_cast<size_t>(dtype)];
}

// Row `row` of a view whose last axis has unit stride.
const char* RowOf(const Tensor& view, int64_t row) {
  int64_t offset = 0;
  for (int axis = view.rank - 2; axis >= 0; --axis) {
    offset += row % view.sizes[axis] * view.strides[axis];
    row /= view.sizes[axis];
  }
  return view.ptr<const char>() + offset * ItemSize(view.dtype);
}

float Amax(const Tensor& x) {
  const int64_t width = x.size(-1);
  const int64_t rows = x.numel() / width;
  constexpr int64_t kElementsPerThread = 64 << 10;  // as row_driver.cc's bytes, in bf16
  const auto row_amax = RowAmaxOf(x.dtype).Chosen();
  std::mutex mutex;
  float largest = 0;
  cpu::ParallelFor(rows, std::max<int64_t>(1, kElementsPerThread / width),
                   [&](int64_t begin, int64_t end) {
                     float mine = 0;
                     for (int64_t row = begin; row < end; ++row) {
                       mine = std::max(mine, row_amax(RowOf(x, row), static_cast<size_t>(width)));
                     }
                     const std::lock_guard<std::mutex> lock(mutex);
                     largest = std::max(largest, mine);
                   });
  return largest;
}

}  // namespace

void RunDynamicScaledFp8Quant(const Resolved& call, std::span<const Tensor> outputs) {
  const Tensor& given = call.inputs[0].tensor;
  Tensor x = given;
  std::optional<Buffer> dense;
  if (x.numel() > 0 && x.stride(-1) != 1) {
    dense = DenseCopy(given, given.dtype);
    x = dense->tensor();
  }
  const float amax = x.numel() > 0 ? Amax(x) : 0.0f;
  *outputs[1].ptr<float>() = std::max(amax, 1e-10f) / 448.0f;
  if (x.numel() == 0) return;
  const std::array<Argument, 2> arguments = {x, outputs[1]};
  const Resolved quantise = Resolve(FindOperator("static_scaled_fp8_quant"), arguments);
  Dispatch(quantise, OutputViews(quantise, outputs.first(1)));
}

}  // namespace tenon::ops::quant
#endif  // HWY_ONCE
