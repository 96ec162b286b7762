#include "ops/linear/fixed_order.h"

#include <cmath>
#include <string>

#include "base/dtype.h"

namespace tenon::ops::linear {
namespace {

constexpr size_t kLanes = 16;
constexpr size_t kBlock = 1024;

// Offset of the first element of row `row`.
int64_t RowOffset(const Tensor& view, int64_t row) {
  int64_t offset = 0;
  for (int axis = view.rank - 2; axis >= 0; --axis) {
    offset += row % view.sizes[axis] * view.strides[axis];
    row /= view.sizes[axis];
  }
  return offset;
}

}  // namespace

float FixedOrderDot(std::span<const float> a, std::span<const float> b) {
  float total = 0;
  for (size_t block = 0; block < a.size(); block += kBlock) {
    const size_t end = std::min(block + kBlock, a.size());
    float lanes[kLanes] = {};
    for (size_t k = block; k < end; ++k) {
      lanes[k % kLanes] = std::fma(a[k], b[k], lanes[k % kLanes]);
    }
    for (size_t half = kLanes / 2; half > 0; half /= 2) {
      for (size_t j = 0; j < half; ++j) lanes[j] += lanes[j + half];
    }
    total = block == 0 ? lanes[0] : total + lanes[0];
  }
  return total;
}

std::vector<float> RowValues(const Tensor& view, int64_t row) {
  const int64_t offset = RowOffset(view, row);
  std::vector<float> values;
  for (int64_t i = 0; i < view.size(-1); ++i) {
    values.push_back(
        static_cast<float>(LoadElement(view.data, view.dtype, offset + i * view.stride(-1))));
  }
  return values;
}

void FillRows(const Tensor& y, const std::function<float(int64_t row, int64_t column)>& value) {
  const int64_t width = y.size(-1);
  for (int64_t row = 0; width > 0 && row < y.numel() / width; ++row) {
    const int64_t offset = RowOffset(y, row);
    for (int64_t i = 0; i < width; ++i) {
      StoreElement(y.data, y.dtype, offset + i * y.stride(-1), value(row, i));
    }
  }
}

void DeclareOutDType(Contract& c) {
  c.ScalarType("out_dtype", {"f32", "f16", "bf16"}).Casts("bias");
}

void DeclareScale(Contract& c, std::string_view name, std::string_view rows) {
  const std::string symbol(rows);
  c.In(name, ir::Elem(DType::kF32), "1 | " + symbol + ", 1 | " + symbol).MayBeEmpty();
}

}  // namespace tenon::ops::linear
