#include "ops/check.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/dtype.h"
#include "base/error.h"
#include "ops/compare.h"
#include "ops/reference.h"
#include "ops/strided.h"

namespace tenon::ops {

std::string DeviationFromReference(const Case& test) {
  const Resolved& call = test.call();
  // The arguments of an in-place form are gone: a fresh copy has them.
  const Case fresh(test.spec());
  const std::vector<ir::HostArray> expected = ReferenceValues(fresh.call());
  const std::vector<Tensor> outputs = test.OutputViews();
  const bool has_body = call.op->contract().has_body();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (call.outputs[i].none) continue;
    Tolerance tolerance;  // of a function: none, a kernel returns its values
    if (has_body) {
      const ir::Graph& graph = call.variant->graph;
      tolerance = ToleranceOf(graph, graph.outputs()[i].value, outputs[i].dtype);
      const int products = CountProducts(graph, graph.outputs()[i].value);
      if (products > 0) {
        const Magnitudes magnitudes = ProductMagnitudes(fresh.call());
        tolerance = ProductTolerance(outputs[i].dtype, products, magnitudes.of_all[i],
                                     magnitudes.of_last[i]);
      }
      // A huge factor multiplies the error of a sum before it.
      tolerance.relative_to_row |= test.spec().fill == Fill::kAdversarial;
    }
    if (!has_body && call.op->contract().family() == "linear" && IsFloat(outputs[i].dtype)) {
      const Magnitudes magnitudes = ProductMagnitudes(fresh.call());
      tolerance =
          ProductTolerance(outputs[i].dtype, 1, magnitudes.of_all[i], magnitudes.of_last[i]);
    }
    if (const auto& within = call.outputs[i].param->within) {
      const double share = outputs[i].dtype == DType::kF32 ? within->first : within->second;
      double largest = 0;
      for (int64_t k = 0; k < expected[i].numel(); ++k) {
        largest = std::max(largest, std::abs(expected[i].Value(k)));
      }
      tolerance = {share, share};
      tolerance.scales = {largest};
    }
    if (const std::string& scale = call.outputs[i].param->error_scale; !scale.empty()) {
      const Tensor& input = fresh.call().FindInput(scale)->view;
      ForEachElement(input, [&](int64_t offset) {
        tolerance.scales.push_back(LoadElement(input.data, input.dtype, offset));
      });
    }
    const Deviation deviation = Compare(outputs[i], expected[i], tolerance);
    if (!deviation.text.empty()) {
      return fmt::format("output {}: {}", call.outputs[i].param->name, deviation.text);
    }
  }
  return "";
}

}  // namespace tenon::ops
