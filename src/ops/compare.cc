#include "ops/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/dtype.h"
#include "base/error.h"
#include "ir/op_table.h"
#include "ops/strided.h"

namespace tenon::ops {
namespace {

Tolerance DocumentedTolerance(DType dtype, bool one_rounding) {
  switch (dtype) {
    case DType::kF32:
      return one_rounding ? Tolerance{1e-5, 1e-5} : Tolerance{2e-5, 2e-5};
    case DType::kF16:
      return one_rounding ? Tolerance{1e-3, 1e-4} : Tolerance{2e-3, 1e-3};
    case DType::kBF16:
      return one_rounding ? Tolerance{8e-3, 1e-3} : Tolerance{1.6e-2, 8e-3};
    default:
      return {};
  }
}

// What a value went through on its way, over everything that it depends on.
struct History {
  int roundings = 0;      // to a type narrower than f32
  bool computed = false;  // by arithmetic, since it was read
  bool cancels = false;   // it was added to another such value
};

bool RoundsNarrowly(const ir::Node& node) {
  const ir::Elem& to = node.type.elem;
  return (node.op == ir::Op::kRound || node.op == ir::Op::kCast) && to.is_float() &&
         !(to == ir::Elem(DType::kF32));
}

History HistoryOf(const ir::Graph& graph, ir::NodeId id) {
  std::vector<History> known(static_cast<size_t>(id) + 1);
  for (ir::NodeId n = 0; n <= id; ++n) {
    const ir::Node& node = graph.node(n);
    History& own = known[static_cast<size_t>(n)];
    int computed = 0;
    int rounded = 0;
    for (ir::NodeId arg : node.args) {
      const History& of = known[static_cast<size_t>(arg)];
      own.roundings = std::max(own.roundings, of.roundings);
      own.cancels |= of.cancels;
      computed += of.computed;
      rounded += of.roundings > 0;
    }
    const bool adds = node.op == ir::Op::kAdd || node.op == ir::Op::kSub || node.op == ir::Op::kFma;
    const bool constant_term = std::any_of(node.args.begin(), node.args.end(), [&](ir::NodeId arg) {
      return graph.node(arg).type.axes.empty();
    });
    own.cancels |= adds && !constant_term && (computed > 1 || rounded > 0);
    const bool computes =
        ir::IsElementwise(node.op) || node.op == ir::Op::kReduce || node.op == ir::Op::kMatmul;
    const bool stores = node.op == ir::Op::kRound || node.op == ir::Op::kCast;
    own.computed = computed > 0 || (computes && !stores);
    own.roundings += RoundsNarrowly(node);
  }
  return known.back();
}

bool SameSpecial(double got, double expected) {
  if (std::isnan(expected) || std::isnan(got)) return std::isnan(expected) && std::isnan(got);
  return got == expected;
}

// Position among the values of a quantised type.
int Step(double value, DType dtype) {
  if (dtype == DType::kI8) return static_cast<int>(value);
  const int magnitude = ToF8E4M3(static_cast<float>(std::abs(value))).bits;
  return value < 0 ? -magnitude : magnitude;
}

class Comparison {
 public:
  Comparison(const Tensor& got, const ir::HostArray& reference, const Tolerance& tolerance)
      : got_(got),
        reference_(reference),
        tolerance_(tolerance),
        quantised_(got.dtype == DType::kI8 || got.dtype == DType::kF8E4M3),
        width_(std::max<int64_t>(reference.shape.empty() || reference.shape[0] == 0
                                     ? reference.numel()
                                     : reference.numel() / reference.shape[0],
                                 1)) {}

  Deviation Run() {
    Deviation result;
    int64_t off = 0;  // quantised, by one step
    int64_t i = 0;
    std::string first;
    ForEachElement(got_, [&](int64_t offset) {
      const double got = LoadElement(got_.data, got_.dtype, offset);
      const double share = Share(got, i);
      result.worst = std::max(result.worst, share);
      off += quantised_ && share > 0;
      if (share > 1 && ++result.beyond == 1) {
        first = fmt::format("element {} (row {}) is {}, reference {}", i, i / width_, got,
                            reference_.Value(i));
      }
      ++i;
    });
    if (result.beyond > 0) {
      result.text = fmt::format("{} of {} elements differ: {}", result.beyond, i, first);
    } else if ((off - 1) * 100 >= i) {
      result.beyond = off;
      result.text = fmt::format("{} of {} elements are off by one step, allowed is 1 %", off, i);
    }
    return result;
  }

 private:
  // The difference as a share of what is allowed; infinite where one is NaN or infinite alone.
  double Share(double got, int64_t i) {
    const double reference = reference_.Value(i);
    const double rounded = RoundTo(reference, got_.dtype);
    const double scale = Scale(i);
    if (std::isinf(scale)) return std::isfinite(got) ? kInfinite : 0;
    if (!std::isfinite(got) || !std::isfinite(rounded)) {
      return SameSpecial(got, rounded) ? 0 : kInfinite;
    }
    if (quantised_) return std::abs(Step(got, got_.dtype) - Step(rounded, got_.dtype));
    if (got == rounded) return 0;
    return std::abs(got - reference) /
           (tolerance_.atol * scale + tolerance_.rtol * std::abs(reference));
  }

  // Elements come in order.
  double Scale(int64_t element) {
    if (const auto count = static_cast<int64_t>(tolerance_.scales.size()); count > 0) {
      const int64_t at = element / std::max<int64_t>(reference_.numel() / count, 1);
      return std::max(1.0, std::abs(tolerance_.scales[static_cast<size_t>(at)]));
    }
    const int64_t row = element / width_;
    if (!tolerance_.relative_to_row || row == row_) return scale_;
    row_ = row;
    scale_ = 1;
    for (int64_t i = row * width_; i < (row + 1) * width_; ++i) {
      const double magnitude = std::abs(reference_.Value(i));
      if (std::isfinite(magnitude)) scale_ = std::max(scale_, magnitude);
    }
    return scale_;
  }

  static constexpr double kInfinite = std::numeric_limits<double>::infinity();

  const Tensor& got_;
  const ir::HostArray& reference_;
  const Tolerance& tolerance_;
  const bool quantised_;
  const int64_t width_;  // elements of a row
  int64_t row_ = -1;
  double scale_ = 1;
};

}  // namespace

Tolerance ToleranceOf(const ir::Graph& graph, ir::NodeId id, DType dtype) {
  const History history = HistoryOf(graph, id);
  Tolerance tolerance = DocumentedTolerance(dtype, history.roundings <= 1);
  tolerance.relative_to_row = history.cancels;
  return tolerance;
}

Tolerance ProductTolerance(DType dtype, int products, const ir::HostArray& of_all,
                           const ir::HostArray& of_last) {
  const double unit = dtype == DType::kF32 ? 0x1p-23 : dtype == DType::kF16 ? 0x1p-10 : 0x1p-7;
  constexpr double kSum = 0x1p-20;
  // What an earlier product stores may be a step off, which the last one multiplies.
  const double stored = products > 1 ? 4 * unit / kSum : 0;
  Tolerance tolerance{unit, kSum};
  for (int64_t i = 0; i < of_all.numel(); ++i) {
    tolerance.scales.push_back(of_all.Value(i) + stored * of_last.Value(i));
  }
  return tolerance;
}

int CountProducts(const ir::Graph& graph, ir::NodeId id) {
  std::vector<int> count(static_cast<size_t>(id) + 1, 0);
  for (ir::NodeId n = 0; n <= id; ++n) {
    int& own = count[static_cast<size_t>(n)];
    for (ir::NodeId arg : graph.node(n).args) own = std::max(own, count[static_cast<size_t>(arg)]);
    own += graph.node(n).op == ir::Op::kMatmul;
  }
  return count.back();
}

Deviation Compare(const Tensor& got, const ir::HostArray& reference, const Tolerance& tolerance) {
  TENON_ASSERT(got.numel() == reference.numel(), "{} elements against {} of the reference",
               got.numel(), reference.numel());
  return Comparison(got, reference, tolerance).Run();
}

}  // namespace tenon::ops
