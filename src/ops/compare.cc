#include "ops/compare.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/dtype.h"
#include "base/error.h"
#include "ops/reference.h"
#include "ops/strided.h"

namespace tenon::ops {

Tolerance ToleranceOf(DType dtype, int roundings) {
  const bool one = roundings <= 1;
  switch (dtype) {
    case DType::kF32:
      return one ? Tolerance{1e-5, 1e-5} : Tolerance{2e-5, 2e-5};
    case DType::kF16:
      return one ? Tolerance{1e-3, 1e-4} : Tolerance{2e-3, 1e-3};
    default:
      return one ? Tolerance{8e-3, 1e-3} : Tolerance{1.6e-2, 8e-3};
  }
}

int Roundings(const ir::Graph& graph, ir::NodeId id) {
  std::vector<int> count(static_cast<size_t>(id) + 1, 0);
  for (ir::NodeId n = 0; n <= id; ++n) {
    const ir::Node& node = graph.node(n);
    for (ir::NodeId arg : node.args) {
      count[static_cast<size_t>(n)] =
          std::max(count[static_cast<size_t>(n)], count[static_cast<size_t>(arg)]);
    }
    const bool rounds = node.op == ir::Op::kRound && node.type.elem == ir::Elem::Storage();
    if (rounds) ++count[static_cast<size_t>(n)];
  }
  return count[static_cast<size_t>(id)];
}

namespace {

// The largest finite magnitude of each row: what the cancellation of a rotation, or of a sum that a
// huge gate multiplies, is relative to.
std::vector<double> RowScales(const ir::HostArray& values, int64_t rows) {
  std::vector<double> scales(static_cast<size_t>(std::max<int64_t>(rows, 1)), 1.0);
  if (rows == 0) return scales;
  const int64_t width = std::max<int64_t>(values.numel() / std::max<int64_t>(rows, 1), 1);
  for (int64_t i = 0; i < values.numel(); ++i) {
    const double v = std::abs(values.Value(i));
    double& scale = scales[static_cast<size_t>(i / width)];
    if (std::isfinite(v)) scale = std::max(scale, v);
  }
  return scales;
}

// The magnitude of each element of an input that the contract names; infinite where it is.
std::vector<double> InputScales(const Tensor& view) {
  std::vector<double> scales;
  ForEachElement(view, [&](int64_t offset) {
    const double v = std::abs(LoadElement(view.data, view.dtype, offset));
    scales.push_back(v > 1.0 ? v : 1.0);
  });
  if (scales.empty()) scales.push_back(1.0);
  return scales;
}

bool SameSpecial(double got, double expected) {
  if (std::isnan(expected) || std::isnan(got)) return std::isnan(expected) && std::isnan(got);
  return got == expected;
}

std::string FloatDeviation(const Tensor& output, const ir::HostArray& expected, Tolerance tolerance,
                           const std::vector<double>& scales) {
  const int64_t width =
      std::max<int64_t>(expected.numel() / static_cast<int64_t>(scales.size()), 1);
  int64_t i = 0;
  int64_t wrong = 0;
  std::string first;
  ForEachElement(output, [&](int64_t offset) {
    const double got = LoadElement(output.data, output.dtype, offset);
    const double reference = expected.Value(i);
    const double rounded = RoundTo(reference, output.dtype);
    const double atol = tolerance.atol * scales[static_cast<size_t>(i / width)];
    const bool ok = std::isinf(atol) ? !std::isfinite(got)
                    : std::isfinite(rounded) && std::isfinite(got)
                        ? std::abs(got - reference) <= atol + tolerance.rtol * std::abs(reference)
                        : SameSpecial(got, rounded);
    if (!ok && ++wrong == 1) {
      first = fmt::format("element {} (row {}) is {}, reference {}", i, i / width, got, reference);
    }
    ++i;
  });
  return wrong == 0 ? "" : fmt::format("{} of {} elements differ: {}", wrong, i, first);
}

// Position among the values of a quantised type.
int Step(double value, DType dtype) {
  if (dtype == DType::kI8) return static_cast<int>(value);
  const int magnitude = ToF8E4M3(static_cast<float>(std::abs(value))).bits;
  return value < 0 ? -magnitude : magnitude;
}

std::string QuantisedDeviation(const Tensor& output, const ir::HostArray& expected) {
  int64_t i = 0;
  int64_t off = 0;
  std::string first;
  ForEachElement(output, [&](int64_t offset) {
    const double got = LoadElement(output.data, output.dtype, offset);
    const double reference = RoundTo(expected.Value(i), output.dtype);
    const bool nan = std::isnan(got) || std::isnan(reference);
    const bool ok = nan ? SameSpecial(got, reference)
                        : std::abs(Step(got, output.dtype) - Step(reference, output.dtype)) <= 1;
    if (!ok && first.empty()) {
      first = fmt::format("element {} is {}, reference {}", i, got, reference);
    }
    off += !nan && got != reference;
    ++i;
  });
  // A row whose largest element rounds the other way has another scale, which moves up to a
  // sixteenth of its elements: a single row may exceed 1 % of a small tensor.
  if (first.empty() && off > std::max<int64_t>(8, i / 100)) {
    first = fmt::format("{} of {} elements are off by one step", off, i);
  }
  return first;
}

}  // namespace

std::string DeviationFromReference(const Case& test) {
  const Resolved& call = test.call();
  // The arguments of an in-place form are gone: a fresh copy has them.
  const Case fresh(test.spec());
  const std::vector<ir::HostArray> expected = ReferenceValues(fresh.call());
  const std::vector<Tensor> outputs = test.OutputViews();
  const ir::Graph& graph = call.variant->graph;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (call.outputs[i].none) continue;
    const DType dtype = outputs[i].dtype;
    TENON_ASSERT(outputs[i].numel() == expected[i].numel(), "{}: sizes of the reference differ",
                 call.name());
    const std::string& scale = call.outputs[i].param->error_scale;
    const bool cancels =
        call.op->contract().family() == "rope" || test.spec().fill == Fill::kAdversarial;
    const std::string deviation =
        dtype == DType::kI8 || dtype == DType::kF8E4M3
            ? QuantisedDeviation(outputs[i], expected[i])
            : FloatDeviation(outputs[i], expected[i],
                             ToleranceOf(dtype, Roundings(graph, graph.outputs()[i].value)),
                             scale.empty()
                                 ? RowScales(expected[i], cancels ? call.sizes.at("tokens") : 0)
                                 : InputScales(fresh.call().FindInput(scale)->view));
    if (!deviation.empty()) {
      return fmt::format("output {}: {}", call.outputs[i].param->name, deviation);
    }
  }
  return "";
}

}  // namespace tenon::ops
