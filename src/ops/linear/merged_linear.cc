#include "base/dtype.h"
#include "ops/linear/fixed_order.h"
#include "ops/linear/product.h"
#include "ops/registry.h"

namespace tenon::ops::linear {
namespace {

void Compute(const Resolved& call, std::span<const Tensor> outputs) {
  const Tensor& x = call.inputs[0].view;
  const Tensor& weight = call.inputs[1].view;
  const BoundInput& bias = call.inputs[2];
  int64_t first = 0;
  for (const Tensor& y : outputs) {
    FillRows(y, [&](int64_t row, int64_t column) {
      const std::vector<float> a = RowValues(x, row);
      const std::vector<float> b = RowValues(weight, first + column);
      double sum = 0;
      for (size_t k = 0; k < a.size(); ++k) sum += double{a[k]} * double{b[k]};
      if (bias.present) {
        const int64_t at = (first + column) * bias.view.strides[0];
        sum += LoadElement(bias.view.data, bias.view.dtype, at);
      }
      return static_cast<float>(sum);
    });
    first += y.size(-1);
  }
}

}  // namespace

Contract merged_linear() {
  Contract c("linear", "merged_linear");
  c.Doc(
      "x weight^T + bias, split by columns into results of output_sizes columns, each contiguous");
  DeclareRows(c);
  DeclareWeight(c, "weight", "n, k");
  c.OptionalIn("bias", ir::Elem::Param(), "n", -0.0);
  c.IntList("output_sizes").NonNegative();
  c.Require("output_sizes_sum", Compare::kEq, "n", "the sum of output_sizes must be weight's rows");
  c.Out("ys", ir::Elem::Storage(), "..., output_sizes_each").Each("output_sizes");
  c.Function(Compute);
  return c;
}

}  // namespace tenon::ops::linear
