#include "ops/linear/operands.h"

namespace tenon::ops::linear {
namespace {

// The stride from row to row, all axes but the last being one; none where that is not constant.
std::optional<int64_t> RowStride(const Tensor& view) {
  const std::optional<Tensor> matrix = AsMatrix(view);
  if (!matrix) return std::nullopt;
  return matrix->sizes[0] == 1 ? 1 : matrix->strides[0];
}

int64_t RowsOf(const Tensor& view) {
  int64_t rows = 1;
  for (int axis = 0; axis < view.rank - 1; ++axis) rows *= view.sizes[axis];
  return rows;
}

}  // namespace

Operand::Operand(const Tensor& view, Strides strides) : rows_(RowsOf(view)), width_(view.size(-1)) {
  dot_ = {view.data, view.dtype, width_, width_ == 1 ? 1 : view.stride(-1)};
  const std::optional<int64_t> row_stride = RowStride(view);
  const bool fits = row_stride && (dot_.stride == 1 ||
                                   (strides == Strides::kUnitOrTransposed && *row_stride == 1));
  if (fits || rows_ * width_ == 0) {
    dot_.row_stride = row_stride.value_or(width_);
    return;
  }
  copy_ = DenseCopy(view, view.dtype);
  dot_ = {copy_->tensor().data, view.dtype, width_, 1};
}

Target::Target(const Tensor& view) : view_(view) {
  const std::optional<int64_t> row_stride = RowStride(view);
  if (row_stride && (view.stride(-1) == 1 || view.size(-1) == 1)) {
    dot_ = {view.data, view.dtype, *row_stride};
    return;
  }
  copy_.emplace(TensorSpec{view.dtype, {view.shape().begin(), view.shape().end()}});
  dot_ = {copy_->tensor().data, view.dtype, view.size(-1)};
}

void Target::Finish() const {
  if (copy_) CopyStrided(copy_->tensor(), view_);
}

std::vector<float> Floats(const Tensor& view) {
  std::vector<float> values(static_cast<size_t>(view.numel()));
  WidenStrided(view, MakeTensor(values.data(), DType::kF32, view.shape()));
  return values;
}

}  // namespace tenon::ops::linear
