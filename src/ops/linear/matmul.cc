#include <utility>

#include "base/dtype.h"
#include "ops/linear/product.h"
#include "ops/registry.h"

namespace tenon::ops::linear {
namespace {

void Compute(const Resolved& call, std::span<const Tensor> outputs) {
  const MatmulOperands of(call);
  const Tensor& y = outputs[0];
  const int last = y.rank - 1;
  int64_t index[kMaxRank] = {};
  for (int64_t element = 0; element < y.numel(); ++element) {
    int64_t a = index[last - 1] * of.a.strides[last - 1];
    int64_t b = index[last] * of.b.strides[last - 1];
    int64_t at = index[last - 1] * y.strides[last - 1] + index[last] * y.strides[last];
    for (int axis = 0; axis < last - 1; ++axis) {
      a += index[axis] * of.a.strides[axis];
      b += index[axis] * of.b.strides[axis];
      at += index[axis] * y.strides[axis];
    }
    double sum = 0;
    for (int64_t k = 0; k < of.a.sizes[last]; ++k) {
      sum += LoadElement(of.a.data, of.a.dtype, a + k * of.a.strides[last]) *
             LoadElement(of.b.data, of.b.dtype, b + k * of.b.strides[last]);
    }
    if (of.bias.data != nullptr) {
      sum += LoadElement(of.bias.data, of.bias.dtype, index[last] * of.bias.strides[0]);
    }
    StoreElement(y.data, y.dtype, at, sum);
    for (int axis = last; axis >= 0 && ++index[axis] == y.sizes[axis]; --axis) index[axis] = 0;
  }
}

void SwapLast(Tensor& tensor) {
  std::swap(tensor.sizes[tensor.rank - 1], tensor.sizes[tensor.rank - 2]);
  std::swap(tensor.strides[tensor.rank - 1], tensor.strides[tensor.rank - 2]);
}

}  // namespace

MatmulOperands::MatmulOperands(const Resolved& call) {
  const auto flag = [&](const char* name) { return std::get<bool>(call.attributes.at(name)); };
  a = call.inputs[0].view;
  b = call.inputs[1].view;
  if (flag("transpose_a")) SwapLast(a);
  if (!flag("transpose_b")) SwapLast(b);
  if (call.inputs[2].present) bias = call.inputs[2].tensor;
}

Contract matmul() {
  Contract c("linear", "matmul");
  c.Doc("y = a b + bias; a or b with its last two axes swapped on request");
  c.In("a", ir::Elem::Storage(), "..., a0, a1").MayBeEmpty().Broadcasts();
  c.In("b", ir::Elem::Storage(), "..., b0, b1").MayBeEmpty().Broadcasts();
  c.OptionalIn("bias", ir::Elem::Param(), "b1 + turned_b*b0 - turned_b*b1", 0.0).NoneByDefault();
  c.KeywordOnly();
  c.Bool("transpose_a", false).Sizes("turned_a", {0, 1});
  c.Bool("transpose_b", false).Sizes("turned_b", {0, 1});
  c.Require("a1 + turned_a*a0 - turned_a*a1", Compare::kEq, "b0 + turned_b*b1 - turned_b*b0",
            "the columns of a must be as many as the rows of b");
  c.Out("y", ir::Elem::Storage(),
        "..., a0 + turned_a*a1 - turned_a*a0, b1 + turned_b*b0 - turned_b*b1");
  c.Function(Compute);
  return c;
}

}  // namespace tenon::ops::linear
