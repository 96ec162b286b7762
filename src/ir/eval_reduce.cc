#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "ir/eval.h"

namespace tenon::ir {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// One reduction over n elements; `at(i)` is the i-th.
template <typename At>
double ReduceRow(ReduceKind kind, bool propagate_nan, int64_t n, At at) {
  double result = kind == ReduceKind::kMax ? -kInfinity : kind == ReduceKind::kMin ? kInfinity : 0;
  for (int64_t i = 0; i < n; ++i) {
    double v = at(i);
    if (kind == ReduceKind::kSum || kind == ReduceKind::kMean) {
      result += v;
      continue;
    }
    if (kind == ReduceKind::kAmax) v = std::abs(v);
    if (std::isnan(v)) {
      if (propagate_nan) return v;
      continue;
    }
    result = kind == ReduceKind::kMin ? std::min(result, v) : std::max(result, v);
  }
  return kind == ReduceKind::kMean ? result / static_cast<double>(n) : result;
}

template <typename At>
int64_t ArgmaxRow(bool propagate_nan, int64_t n, At at) {
  int64_t best = 0;
  double largest = -kInfinity;
  bool found = false;
  for (int64_t i = 0; i < n; ++i) {
    const double v = at(i);
    if (std::isnan(v)) {
      if (propagate_nan) return i;
    } else if (!found || v > largest) {
      best = i;
      largest = v;
      found = true;
    }
  }
  return best;
}

}  // namespace

HostArray EvalReduce(const Evaluation& e) {
  const HostArray& arg = e.arg(0);
  const auto axis = static_cast<size_t>(e.arg_type(0).FindAxis(e.node.axis));
  const int64_t n = arg.shape[axis];
  int64_t inner = 1;
  for (size_t i = axis + 1; i < arg.shape.size(); ++i) inner *= arg.shape[i];
  HostArray result = e.Result();
  const ReduceKind kind = e.node.reduce;
  const bool needs_element =
      kind == ReduceKind::kMax || kind == ReduceKind::kMin || kind == ReduceKind::kArgmax;
  TENON_CHECK(n > 0 || !needs_element || result.numel() == 0,
              "reduce {}: axis {} is empty and has no {}", ReduceName(kind), e.node.axis,
              ReduceName(kind));
  for (int64_t r = 0; r < result.numel(); ++r) {
    const int64_t start = r / inner * inner * n + r % inner;
    const auto at = [&](int64_t i) { return arg.Value(start + i * inner); };
    Word& out = result.words[static_cast<size_t>(r)];
    if (kind == ReduceKind::kArgmax) {
      out.i = ArgmaxRow(e.node.propagate_nan, n, at);
    } else {
      out.f = ReduceRow(kind, e.node.propagate_nan, n, at);
    }
  }
  return result;
}

namespace {

// An argument of a product, repacked as [batch, rows, k] or [batch, k, columns].
HostArray Repack(const Evaluation& e, size_t i, const std::vector<Axis>& order) {
  const Type& type = e.arg_type(i);
  const std::vector<int64_t> dense = DenseStrides(e.arg(i).shape);
  std::vector<int64_t> strides;
  std::vector<int64_t> shape;
  for (const Axis& axis : order) {
    const auto position = static_cast<size_t>(type.FindAxis(axis.name));
    strides.push_back(dense[position]);
    shape.push_back(e.arg(i).shape[position]);
  }
  HostArray packed(DType::kF32, shape);
  GatherWords(e.arg(i).words, 0, strides, shape, packed.words.data());
  if (!e.arg(i).is_float()) {
    for (Word& word : packed.words) word.f = static_cast<double>(word.i);
  }
  return packed;
}

}  // namespace

HostArray EvalMatmul(const Evaluation& e) {
  const Type& a = e.arg_type(0);
  const Type& b = e.arg_type(1);
  std::vector<Axis> batch;
  std::vector<Axis> rows;
  std::vector<Axis> columns;
  for (const Axis& axis : a.axes) {
    if (axis.name != e.node.axis) (b.FindAxis(axis.name) >= 0 ? batch : rows).push_back(axis);
  }
  for (const Axis& axis : b.axes) {
    if (axis.name != e.node.axis && a.FindAxis(axis.name) < 0) columns.push_back(axis);
  }
  const Axis contracted = a.axes[static_cast<size_t>(a.FindAxis(e.node.axis))];
  const auto join = [](std::vector<Axis> order, const std::vector<Axis>& more) {
    order.insert(order.end(), more.begin(), more.end());
    return order;
  };
  const auto count = [&](const std::vector<Axis>& axes) {
    return Type{DType::kF32, axes}.numel().Eval(e.sizes);
  };
  const HostArray left = Repack(e, 0, join(join(batch, rows), {contracted}));
  const HostArray right = Repack(e, 1, join(join(batch, {contracted}), columns));
  const int64_t n = count(columns);
  const int64_t k = count({contracted});
  const int64_t m = count(rows);
  std::vector<double> sums(static_cast<size_t>(count(batch) * m * n), 0.0);
  for (int64_t row = 0; row < count(batch) * m; ++row) {
    double* out = sums.data() + row * n;
    const Word* factors = right.words.data() + row / m * k * n;
    for (int64_t i = 0; i < k; ++i) {
      const double x = left.words[static_cast<size_t>(row * k + i)].f;
      for (int64_t j = 0; j < n; ++j) out[j] += x * factors[i * n + j].f;
    }
  }
  // From [batch, rows, columns] to the order of the result's axes.
  const Type packed{DType::kF32, join(join(batch, rows), columns)};
  std::vector<int64_t> packed_shape;
  for (const Axis& axis : packed.axes) packed_shape.push_back(axis.size.Eval(e.sizes));
  std::vector<Word> words(sums.size());
  for (size_t i = 0; i < sums.size(); ++i) words[i].f = sums[i];
  HostArray result = e.Result();
  GatherWords(words, 0, BroadcastStrides(packed, packed_shape, e.node.type.axes), e.shape,
              result.words.data());
  return result;
}

}  // namespace tenon::ir
