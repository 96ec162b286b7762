#include "ops/linear/batch_invariant.h"

#include "ops/linear/fixed_order.h"
#include "ops/strided.h"

namespace tenon::ops::linear {
namespace {

void Transpose(Tensor& matrix) {
  std::swap(matrix.sizes[0], matrix.sizes[1]);
  std::swap(matrix.strides[0], matrix.strides[1]);
}

std::vector<std::vector<float>> AllRows(const Tensor& matrix) {
  std::vector<std::vector<float>> rows;
  for (int64_t i = 0; i < matrix.numel() / std::max<int64_t>(matrix.size(-1), 1); ++i) {
    rows.push_back(RowValues(matrix, i));
  }
  // A row without elements is one, too: its sum is 0.
  if (matrix.size(-1) == 0) {
    int64_t count = 1;
    for (int axis = 0; axis < matrix.rank - 1; ++axis) count *= matrix.sizes[axis];
    rows.resize(static_cast<size_t>(count));
  }
  return rows;
}

void Multiply(const Product& product, float alpha,
              const std::function<float(int64_t row, int64_t column)>& addend) {
  const auto a = AllRows(product.a);
  const auto b = AllRows(product.b);
  FillRows(product.y, [&](int64_t row, int64_t column) {
    const float sum = FixedOrderDot(a[static_cast<size_t>(row)], b[static_cast<size_t>(column)]);
    return sum * alpha + addend(row, column);
  });
}

}  // namespace

std::vector<Product> ProductsOf(const Resolved& call, const Tensor& y) {
  const Tensor& a = call.inputs[0].view;
  Tensor b = call.inputs[1].view;
  if (call.op->name() == "linear_batch_invariant") return {{a, b, y}};
  int64_t batches = 1;
  for (int axis = 0; axis < y.rank - 2; ++axis) batches *= y.sizes[axis];
  std::vector<Product> products;
  for (int64_t i = 0; i < batches; ++i) {
    products.push_back({LastAxes(a, 2, i), LastAxes(b, 2, i), LastAxes(y, 2, i)});
    Transpose(products.back().b);
  }
  return products;
}

void ComputeBatchInvariant(const Resolved& call, std::span<const Tensor> outputs) {
  const BoundInput* const bias = call.FindInput("bias");
  const std::vector<float> addend =
      bias != nullptr && bias->present ? RowValues(bias->view, 0) : std::vector<float>();
  for (const Product& product : ProductsOf(call, outputs[0])) {
    Multiply(product, 1.0f, [&](int64_t, int64_t column) {
      return addend.empty() ? -0.0f : addend[static_cast<size_t>(column)];
    });
  }
}

void ComputeAddmmBatchInvariant(const Resolved& call, std::span<const Tensor> outputs) {
  const auto alpha = static_cast<float>(NumberOf(call, "alpha"));
  const auto beta = static_cast<float>(NumberOf(call, "beta"));
  Product product{call.inputs[1].view, call.inputs[2].view, outputs[0]};
  Transpose(product.b);
  const Tensor& bias = call.inputs[0].view;
  Multiply(product, alpha, [&](int64_t row, int64_t column) {
    return beta == 0 ? -0.0f : beta * RowValues(bias, row)[static_cast<size_t>(column)];
  });
}

}  // namespace tenon::ops::linear
