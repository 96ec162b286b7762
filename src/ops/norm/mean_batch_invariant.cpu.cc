// Computes  y = mean(x) over any axes
// Traffic   x and y once; x is copied where the axes of a mean have no common stride, or neither
//           they nor the others lie one after another
// Mapping   rows, or blocks of columns, over threads
// Numerics  float32 sums in the order of backend/cpu/row-inl.h, one division, one rounding
// Limits    none
#include "ops/norm/mean_batch_invariant.h"

#include <algorithm>
#include <optional>

#include "backend/cpu/parallel.h"
#include "backend/cpu/sums.h"
#include "base/dtype.h"
#include "ops/dense.h"
#include "ops/structural.h"

namespace tenon::ops::norm {
namespace {

constexpr int64_t kWorkPerThread = 32 << 10;  // elements: some 5 us

// Neighbouring axes with one stride become one; without those of size 1, and at least one axis.
Tensor Folded(const Tensor& view) {
  Tensor folded = view;
  folded.rank = 0;
  for (int axis = 0; axis < view.rank; ++axis) {
    if (view.sizes[axis] == 1) continue;
    const int last = folded.rank - 1;
    if (last >= 0 && folded.strides[last] == view.sizes[axis] * view.strides[axis]) {
      folded.sizes[last] *= view.sizes[axis];
      folded.strides[last] = view.strides[axis];
      continue;
    }
    folded.sizes[folded.rank] = view.sizes[axis];
    folded.strides[folded.rank++] = view.strides[axis];
  }
  if (folded.rank == 0) {
    folded.sizes[0] = folded.strides[0] = 1;
    folded.rank = 1;
  }
  return folded;
}

// Means of which each is over one axis, and all over others.
struct Sums {
  Tensor kept;
  int64_t count;   // elements of a sum
  int64_t stride;  // between them

  bool of_columns() const { return stride != 1 && count != 1; }
  int64_t columns() const { return kept.size(-1); }

  // The first element of sum `number`.
  const char* At(int64_t number) const {
    int64_t offset = 0;
    for (int axis = kept.rank - 1; axis >= 0; --axis) {
      offset += number % kept.sizes[axis] * kept.strides[axis];
      number /= kept.sizes[axis];
    }
    return kept.ptr<const char>() + offset * ItemSize(kept.dtype);
  }
};

std::optional<Sums> InPlace(const MeanAxes& axes) {
  const Tensor kept = Folded(axes.Kept());
  const Tensor reduced = Folded(axes.Reduced(0));
  const bool summable =
      axes.x.dtype == DType::kF32 || axes.x.dtype == DType::kF16 || axes.x.dtype == DType::kBF16;
  const bool one_stride = reduced.rank == 1 && (reduced.strides[0] == 1 || reduced.sizes[0] == 1 ||
                                                kept.strides[kept.rank - 1] == 1);
  if (!summable || !one_stride) return std::nullopt;
  return Sums{kept, axes.count, reduced.strides[0]};
}

void SumRows(const Sums& of, float* sums, int64_t total) {
  const int64_t grain = std::max<int64_t>(1, kWorkPerThread / std::max<int64_t>(of.count, 1));
  cpu::ParallelFor(total, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      sums[i] = cpu::RowSum(of.At(i), of.kept.dtype, of.count);
    }
  });
}

void SumColumns(const Sums& of, float* sums, int64_t total) {
  const int64_t blocks = (of.columns() + cpu::kSumColumns - 1) / cpu::kSumColumns;
  const int64_t work = std::min(of.columns(), cpu::kSumColumns) * of.count;
  const int64_t grain = std::max<int64_t>(1, kWorkPerThread / work);
  cpu::ParallelFor(total / of.columns() * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t column = i % blocks * cpu::kSumColumns;
      const int64_t first = i / blocks * of.columns() + column;
      cpu::ColumnSums(of.At(first), of.kept.dtype, of.count, of.stride,
                      std::min(cpu::kSumColumns, of.columns() - column), sums + first);
    }
  });
}

void StoreMeans(const std::vector<float>& sums, int64_t count, const Tensor& y) {
  const auto mean = [&](int64_t i) {
    return static_cast<double>(sums[static_cast<size_t>(i)] / static_cast<float>(count));
  };
  int64_t next = 0;
  ForEachElement(y, [&](int64_t offset) { StoreElement(y.data, y.dtype, offset, mean(next++)); });
}

}  // namespace

void RunMeanBatchInvariant(const Resolved& call, std::span<const Tensor> outputs) {
  const MeanAxes axes(call);
  const Tensor& y = outputs[0];
  std::vector<float> sums(static_cast<size_t>(y.numel()));
  std::optional<Sums> of;
  std::optional<Buffer> copy;
  if (y.numel() > 0 && axes.count > 0) of = InPlace(axes);
  if (y.numel() > 0 && axes.count > 0 && !of) {
    copy = DenseCopy(axes.x, IsFloat(axes.x.dtype) ? axes.x.dtype : DType::kF32);
    const int64_t rows[] = {y.numel()};
    Tensor first = MakeTensor(copy->tensor().data, copy->tensor().dtype, rows);
    first.strides[0] = axes.count;
    of = Sums{first, axes.count, 1};
  }
  if (of && of->of_columns()) {
    SumColumns(*of, sums.data(), y.numel());
  } else if (of) {
    SumRows(*of, sums.data(), y.numel());
  }
  StoreMeans(sums, axes.count, y);
}

}  // namespace tenon::ops::norm
