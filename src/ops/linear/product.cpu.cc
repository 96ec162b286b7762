// Computes  the product of a call by the kernels of backend/cpu/gemm.h
// Traffic   that of the kernel; operands are copied only where their rows have no common stride
// Mapping   that of the kernel
// Numerics  float32 sums, one rounding
// Limits    none
#include "ops/linear/product.h"

#include <algorithm>
#include <optional>

#include "base/dtype.h"
#include "ops/composition.h"
#include "ops/dense.h"
#include "ops/structural.h"

namespace tenon::ops::linear {
namespace {

// A view as a matrix of rows, copied where it has to be.
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
  cpu::MatrixView view() const { return {matrix_.data, matrix_.strides[0], matrix_.strides[1], 0}; }

 private:
  Tensor matrix_;
  std::optional<Buffer> copy_;
};

// The tensor that was given for `name`, or one without data.
Tensor GivenOrNone(const Resolved& call, std::string_view name) {
  const BoundInput* input = call.FindInput(name);
  return input != nullptr && input->present ? input->tensor : Tensor();
}

}  // namespace

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

cpu::Gate GateOf(std::string_view act) {
  return act == "swigluoai" ? cpu::Gate::kInterleaved : cpu::Gate::kHalves;
}

}  // namespace

void RunLinear(const Resolved& call, std::span<const Tensor> outputs) {
  Multiply(Common(call), outputs[0]);
}

void RunLinearAct(const Resolved& call, std::span<const Tensor> outputs) {
  Operands operands = Common(call);
  operands.act = cpu::ActOf(WordOf(call, "act"));
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
  operands.act = cpu::ActOf(WordOf(call, "act"));
  operands.gate = GateOf(WordOf(call, "act"));
  Multiply(operands, outputs[0]);
}

namespace {

// What a product stores for the next one: x's rows, `width` wide.
Buffer Hidden(const Tensor& x, int64_t width) {
  std::vector<int64_t> shape(x.shape().begin(), x.shape().end());
  shape.back() = width;
  return Fresh(x.dtype, std::move(shape));
}

void RunMlp(const Resolved& call, const Tensor& x, const Tensor& residual, const Tensor& y) {
  const std::string_view act = WordOf(call, "act");
  const Buffer hidden = Hidden(x, call.sizes.at("d"));
  Multiply({x, GivenOrNone(call, "gate_up_weight"), GivenOrNone(call, "gate_up_bias"), Tensor(),
            cpu::ActOf(act), GateOf(act)},
           hidden.tensor());
  Multiply({hidden.tensor(), GivenOrNone(call, "down_weight"), GivenOrNone(call, "down_bias"),
            residual, cpu::Act::kNone, cpu::Gate::kNone},
           y);
}

void RunNorm(const Resolved& call, const Tensor& x, const Tensor& y) {
  const std::string_view norm = WordOf(call, "norm");
  const Argument weight = Given(call, "norm_weight");
  const Argument bias = Given(call, "norm_bias");
  const Argument eps = NumberOf(call, "eps");
  if (norm == "layer_norm") {
    const Argument arguments[] = {x, weight, bias, eps};
    Invoke(norm, arguments, {&y, 1});
    return;
  }
  const double offset = norm == "gemma_rms_norm" ? 1.0 : 0.0;
  const Argument arguments[] = {x, weight, eps, bias, {}, offset};
  Invoke("rms_norm", arguments, {&y, 1});
}

}  // namespace

void RunGatedMlp(const Resolved& call, std::span<const Tensor> outputs) {
  RunMlp(call, call.inputs[0].tensor, GivenOrNone(call, "residual"), outputs[0]);
}

void RunNormGatedMlp(const Resolved& call, std::span<const Tensor> outputs) {
  const Tensor& x = call.inputs[0].tensor;
  const Buffer normalised = Hidden(x, x.size(-1));
  RunNorm(call, x, normalised.tensor());
  const Tensor residual = FlagOf(call, "add_residual") ? x : Tensor();
  RunMlp(call, normalised.tensor(), residual, outputs[0]);
}

void RunSplitLinear(const Resolved& call, std::span<const Tensor> outputs) {
  const Operands whole = Common(call);
  int64_t row = 0;
  for (const Tensor& y : outputs) {
    Operands part = whole;
    part.weight = Part(whole.weight, 0, row, y.size(-1));
    if (whole.bias.data != nullptr) part.bias = Part(whole.bias, 0, row, y.size(-1));
    Multiply(part, y);
    row += y.size(-1);
  }
}

void RunBatchMatmulTranspose(const Resolved& call, std::span<const Tensor> outputs) {
  const Tensor& a = call.inputs[0].tensor;
  const Tensor& b = call.inputs[1].tensor;
  const Tensor& y = outputs[0];
  cpu::Gemm gemm;
  gemm.dtype = y.dtype;
  gemm.batch = a.sizes[1];
  gemm.m = a.sizes[0];
  gemm.n = b.sizes[2];
  gemm.k = a.sizes[2];
  gemm.a = {a.data, a.strides[0], a.strides[2], a.strides[1]};
  gemm.b = {b.data, b.strides[2], b.strides[1], b.strides[0]};
  gemm.c = {y.data, y.strides[0], y.strides[2], y.strides[1]};
  cpu::RunGemm(gemm);
}

namespace {

// Without its first axis, at `index`.
Tensor At(const Tensor& tensor, int64_t index) {
  Tensor part = tensor;
  part.data = part.ptr<char>() + index * tensor.strides[0] * ItemSize(tensor.dtype);
  --part.rank;
  std::copy_n(tensor.sizes.begin() + 1, part.rank, part.sizes.begin());
  std::copy_n(tensor.strides.begin() + 1, part.rank, part.strides.begin());
  return part;
}

// One batch of matrices.
void MultiplyBatch(const MatmulOperands& of, const Tensor& y) {
  cpu::Gemm gemm;
  gemm.dtype = y.dtype;
  gemm.batch = y.sizes[0];
  gemm.m = y.sizes[1];
  gemm.n = y.sizes[2];
  gemm.k = of.a.sizes[2];
  gemm.a = {of.a.data, of.a.strides[1], of.a.strides[2], of.a.strides[0]};
  gemm.b = {of.b.data, of.b.strides[1], of.b.strides[2], of.b.strides[0]};
  gemm.c = {y.data, y.strides[1], y.strides[2], y.strides[0]};
  gemm.bias = of.bias.data;
  gemm.bias_dtype = of.bias.dtype;
  gemm.bias_step = of.bias.strides[0];
  cpu::RunGemm(gemm);
}

void MultiplyAll(const MatmulOperands& of, const Tensor& y) {
  const bool one_matrix = std::all_of(of.b.strides.begin(), of.b.strides.begin() + of.b.rank - 2,
                                      [](int64_t stride) { return stride == 0; });
  if (one_matrix) {
    Tensor weight = of.b;
    while (weight.rank > 2) weight = At(weight, 0);
    Multiply({of.a, weight, of.bias, Tensor(), cpu::Act::kNone, cpu::Gate::kNone}, y);
    return;
  }
  if (y.rank == 3) return MultiplyBatch(of, y);
  MatmulOperands part = of;
  for (int64_t i = 0; i < y.sizes[0]; ++i) {
    part.a = At(of.a, i);
    part.b = At(of.b, i);
    MultiplyAll(part, At(y, i));
  }
}

}  // namespace

void RunMatmul(const Resolved& call, std::span<const Tensor> outputs) {
  if (outputs[0].numel() > 0) MultiplyAll(MatmulOperands(call), outputs[0]);
}

}  // namespace tenon::ops::linear
