#include "ops/norm/mean_batch_invariant.h"

#include <algorithm>

#include "base/dtype.h"
#include "ops/reduced_axes.h"
#include "ops/registry.h"
#include "ops/strided.h"

namespace tenon::ops::norm {

MeanAxes::MeanAxes(const Resolved& call) {
  const Tensor& given = call.inputs[0].tensor;
  const auto& list = std::get<std::vector<int64_t>>(call.attributes.at("dim"));
  const std::vector<bool> named = NamedAxes(call.name(), "dim", list, given.rank);
  x = NamedAxesLast(given, named);
  reduced_rank = static_cast<int>(std::count(named.begin(), named.end(), true));
  for (int axis = kept_rank(); axis < x.rank; ++axis) count *= x.sizes[axis];
}

Tensor MeanAxes::Kept() const {
  Tensor kept = x;
  kept.rank = kept_rank();
  return kept;
}

Tensor MeanAxes::Reduced(int64_t offset) const {
  Tensor reduced = x;
  reduced.data = x.ptr<char>() + offset * ItemSize(x.dtype);
  reduced.rank = reduced_rank;
  std::copy_n(x.sizes.begin() + kept_rank(), reduced_rank, reduced.sizes.begin());
  std::copy_n(x.strides.begin() + kept_rank(), reduced_rank, reduced.strides.begin());
  return reduced;
}

namespace {

// In the order of backend/cpu/row-inl.h, as scalar code.
float FixedOrderSum(const Tensor& elements) {
  constexpr size_t kLanes = 64;
  float lanes[kLanes] = {};
  size_t next = 0;
  ForEachElement(elements, [&](int64_t offset) {
    lanes[next++ % kLanes] +=
        static_cast<float>(LoadElement(elements.data, elements.dtype, offset));
  });
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

void Compute(const Resolved& call, std::span<const Tensor> outputs) {
  const MeanAxes axes(call);
  const Tensor& y = outputs[0];
  std::vector<float> means;
  ForEachElement(axes.Kept(), [&](int64_t offset) {
    means.push_back(FixedOrderSum(axes.Reduced(offset)) / static_cast<float>(axes.count));
  });
  auto next = means.begin();
  ForEachElement(y, [&](int64_t offset) {
    StoreElement(y.data, y.dtype, offset, static_cast<double>(*next++));
  });
}

}  // namespace

Contract mean_batch_invariant() {
  Contract c("norm", "mean_batch_invariant");
  c.Doc("y = mean(x) over the axes `dim`, all when it is empty; integers give f32");
  c.In("x", ir::Elem::Storage(), "...").AnyDType().MayBeEmpty();
  c.IntList("dim");
  c.Bool("keepdim", false);
  c.OptionalScalarType("dtype", {"f32", "f16", "bf16"}).Casts("x");
  c.Out("y", ir::Elem::Storage(), "...").Like("x").Reduces("dim", "keepdim");
  c.Function(Compute);
  return c;
}

}  // namespace tenon::ops::norm
