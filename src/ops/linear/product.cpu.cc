// Computes  the product of a call by the kernels of backend/cpu/gemm.h
// Traffic   that of the kernel; operands are copied only where their rows have no common stride
// Mapping   that of the kernel
// Numerics  float32 sums, one rounding
// Limits    none
#include "ops/linear/product.h"

#include <optional>

#include "ops/dense.h"
#include "ops/structural.h"

namespace tenon::ops::linear {
namespace {

// [..., n] as [rows, n], or nothing where the rows have no common stride.
std::optional<Tensor> AsMatrix(const Tensor& view) {
  Tensor matrix = view;
  matrix.rank = 2;
  matrix.sizes[0] = 1;
  matrix.strides[0] = 0;
  for (int axis = view.rank - 2; axis >= 0; --axis) {
    const int64_t size = view.sizes[axis];
    if (size == 1) continue;
    if (matrix.sizes[0] == 1) {
      matrix.strides[0] = view.strides[axis];
    } else if (view.strides[axis] != matrix.sizes[0] * matrix.strides[0]) {
      return std::nullopt;
    }
    matrix.sizes[0] *= size;
  }
  matrix.sizes[1] = view.size(-1);
  matrix.strides[1] = view.stride(-1);
  return matrix;
}

// The same, copied where it has to be.
class Rows {
 public:
  explicit Rows(const Tensor& view) {
    if (view.data == nullptr) return;
    std::optional<Tensor> matrix = AsMatrix(view);
    if (!matrix) {
      copy_ = DenseCopy(view, view.dtype);
      const Tensor dense = MakeTensor(copy_->tensor().data, view.dtype, view.shape());
      matrix = AsMatrix(dense);
    }
    matrix_ = *matrix;
  }
  const Tensor& matrix() const { return matrix_; }
  cpu::MatrixView view() const { return {matrix_.data, matrix_.strides[0], matrix_.strides[1], 0}; }

 private:
  Tensor matrix_;
  std::optional<Buffer> copy_;
};

}  // namespace

Tensor GivenOrNone(const Resolved& call, std::string_view name) {
  const BoundInput* input = call.FindInput(name);
  return input != nullptr && input->present ? input->tensor : Tensor();
}

void Multiply(const Operands& operands, const Tensor& y) {
  if (y.numel() == 0) return;
  const std::optional<Tensor> flat = AsMatrix(y);
  if (!flat) {
    const Buffer dense({y.dtype, {y.shape().begin(), y.shape().end()}});
    Multiply(operands, dense.tensor());
    CopyStrided(dense.tensor(), y);
    return;
  }
  const Rows x(operands.x);
  const Rows residual(operands.residual);
  cpu::Gemm gemm;
  gemm.dtype = y.dtype;
  gemm.m = flat->sizes[0];
  gemm.n = flat->sizes[1];
  gemm.k = operands.x.size(-1);
  gemm.a = x.view();
  gemm.b = {operands.weight.data, operands.weight.strides[0], operands.weight.strides[1], 0};
  gemm.c = {flat->data, flat->strides[0], flat->strides[1], 0};
  gemm.residual = residual.view();
  gemm.bias = operands.bias.data;
  gemm.bias_dtype = operands.bias.dtype;
  gemm.bias_step = operands.bias.strides[0];
  gemm.act = operands.act;
  gemm.gate = operands.gate;
  cpu::RunGemm(gemm);
}

namespace {

Operands Common(const Resolved& call) {
  Operands operands;
  operands.x = call.inputs[0].tensor;
  operands.weight = GivenOrNone(call, "weight");
  operands.bias = GivenOrNone(call, "bias");
  return operands;
}

std::string_view Word(const Resolved& call, const std::string& name) {
  return std::get<std::string>(call.attributes.at(name));
}

cpu::Gate GateOf(std::string_view act) {
  return act == "swigluoai" ? cpu::Gate::kInterleaved : cpu::Gate::kHalves;
}

}  // namespace

void RunLinear(const Resolved& call, std::span<const Tensor> outputs) {
  Multiply(Common(call), outputs[0]);
}

void RunLinearAct(const Resolved& call, std::span<const Tensor> outputs) {
  Operands operands = Common(call);
  operands.act = cpu::ActOf(Word(call, "act"));
  Multiply(operands, outputs[0]);
}

void RunLinearAdd(const Resolved& call, std::span<const Tensor> outputs) {
  Operands operands = Common(call);
  operands.residual = GivenOrNone(call, "residual");
  Multiply(operands, outputs[0]);
}

void RunLinearActAndMul(const Resolved& call, std::span<const Tensor> outputs) {
  Operands operands;
  operands.x = call.inputs[0].tensor;
  operands.weight = GivenOrNone(call, "gate_up_weight");
  operands.bias = GivenOrNone(call, "gate_up_bias");
  operands.act = cpu::ActOf(Word(call, "act"));
  operands.gate = GateOf(Word(call, "act"));
  Multiply(operands, outputs[0]);
}

}  // namespace tenon::ops::linear
