// Computes  y = a b + bias; alpha * (a b) + beta * bias
// Traffic   as backend/cpu/dot.cc
// Mapping   one product for all leading axes where b has none, else one after the other
// Numerics  the order of additions of backend/cpu/dot.h, which depends on k alone
// Limits    none
#include "ops/linear/batch_invariant.h"

#include "ops/linear/operands.h"
#include "ops/structural.h"

namespace tenon::ops::linear {
namespace {

void Run(const Product& product, const cpu::DotEpilogue& epilogue) {
  const Operand a(product.a);
  const Operand b(product.b);
  const Target y(product.y);
  cpu::DotProduct(a.rows(), b.rows(), a.width(), a.dot(), b.dot(), epilogue, y.dot());
  y.Finish();
}

// b is one matrix for all leading axes: they are rows of a.
bool SharesB(const Tensor& b) {
  for (int axis = 0; axis < b.rank - 2; ++axis) {
    if (b.sizes[axis] != 1 && b.strides[axis] != 0) return false;
  }
  return true;
}

}  // namespace

void RunBatchInvariant(const Resolved& call, std::span<const Tensor> outputs) {
  const BoundInput* const bias = call.FindInput("bias");
  std::vector<float> addend;
  cpu::DotEpilogue epilogue;
  if (bias != nullptr && bias->present) {
    addend = Floats(bias->view);
    epilogue.bias = addend.data();
  }
  if (outputs[0].numel() == 0) return;
  std::vector<Product> products = ProductsOf(call, outputs[0]);
  if (products.size() > 1 && SharesB(call.inputs[1].view)) {
    products.resize(1);
    products[0].a = call.inputs[0].view;
    products[0].y = outputs[0];
  }
  for (const Product& product : products) Run(product, epilogue);
}

void RunAddmmBatchInvariant(const Resolved& call, std::span<const Tensor> outputs) {
  const auto alpha = static_cast<float>(NumberOf(call, "alpha"));
  const auto beta = static_cast<float>(NumberOf(call, "beta"));
  const Tensor& y = outputs[0];
  if (y.numel() == 0) return;
  Product product{call.inputs[1].view, call.inputs[2].view, y};
  std::swap(product.b.sizes[0], product.b.sizes[1]);
  std::swap(product.b.strides[0], product.b.strides[1]);
  const std::vector<float> scale(static_cast<size_t>(y.numel() / y.size(-1)), alpha);
  cpu::DotEpilogue epilogue;
  epilogue.row_scale = scale.data();
  std::vector<float> addend;
  if (beta != 0) {
    Tensor bias = call.inputs[0].view;
    bool one_row = true;
    for (int axis = 0; axis < bias.rank - 1; ++axis) {
      one_row &= bias.strides[axis] == 0 || bias.sizes[axis] == 1;
    }
    for (int axis = 0; one_row && axis < bias.rank - 1; ++axis) bias.sizes[axis] = 1;
    addend = Floats(bias);
    for (float& value : addend) value *= beta;
    epilogue.bias = addend.data();
    epilogue.bias_stride = one_row ? 0 : y.size(-1);
  }
  Run(product, epilogue);
}

}  // namespace tenon::ops::linear
