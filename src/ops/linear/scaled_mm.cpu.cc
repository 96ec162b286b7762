// Computes  y = (x weight^T) * (x_scale * weight_scale) + bias, of int8 and of e4m3
// Traffic   one byte per element of x and weight; y once
// Mapping   as backend/cpu/dot.cc and dot_int8.cc
// Numerics  int8: exact sums; e4m3: float32 in the order of backend/cpu/dot.h, scales of blocks
//           multiplied into the operands in float32
// Limits    int8: at most 131071 columns
#include "ops/linear/scaled_mm.h"

#include <algorithm>

#include "backend/cpu/dot_int8.h"
#include "ops/composition.h"
#include "ops/linear/operands.h"
#include "ops/structural.h"

namespace tenon::ops::linear {
namespace {

// Scales and bias of a call as float32, for as long as the epilogue points to them.
class Epilogue {
 public:
  Epilogue(const Tensor& x_scale, const Tensor& weight_scale, const BoundInput& bias)
      : rows_(Floats(x_scale)), columns_(Floats(weight_scale)) {
    dot_.row_scale = rows_.data();
    dot_.column_scale = columns_.data();
    if (!bias.present) return;
    bias_ = Floats(bias.view);
    dot_.bias = bias_.data();
  }
  const cpu::DotEpilogue& dot() const { return dot_; }

 private:
  std::vector<float> rows_;
  std::vector<float> columns_;
  std::vector<float> bias_;
  cpu::DotEpilogue dot_;
};

std::vector<int32_t> Integers(const Tensor& view) {
  std::vector<int32_t> values;
  ForEachElement(view, [&](int64_t offset) { values.push_back(view.ptr<int32_t>()[offset]); });
  return values;
}

std::vector<int32_t> RowSums(const Operand& weight) {
  std::vector<int32_t> sums;
  for (int64_t n = 0; n < weight.rows(); ++n) {
    const auto* const row =
        static_cast<const int8_t*>(weight.dot().data) + n * weight.dot().row_stride;
    int32_t sum = 0;
    for (int64_t k = 0; k < weight.width(); ++k) sum += row[k];
    sums.push_back(sum);
  }
  return sums;
}

cpu::Int8Rows Int8RowsOf(const Operand& operand) {
  return {static_cast<const int8_t*>(operand.dot().data), operand.dot().row_stride};
}

// [tokens, k] int8 and [tokens, 1] scales. Without columns there is nothing to scale.
std::vector<Buffer> QuantisedRows(const Resolved& call) {
  const Argument x = Given(call, "x");
  const int64_t tokens = call.sizes.at("tokens");
  if (call.sizes.at("k") > 0) {
    return Invoke("dynamic_scaled_int8_quant", std::span<const Argument>(&x, 1));
  }
  std::vector<Buffer> none = {Fresh(DType::kI8, {tokens, 0}), Fresh(DType::kF32, {tokens, 1})};
  std::fill_n(none[1].tensor().ptr<float>(), tokens, 1.0f);
  return none;
}

}  // namespace

void RunInt8ScaledMm(const Resolved& call, std::span<const Tensor> outputs) {
  CheckInt8Width(call);
  if (outputs[0].numel() == 0) return;
  const Operand x(call.inputs[0].view, Operand::Strides::kUnit);
  const Operand weight(call.inputs[1].view, Operand::Strides::kUnit);
  const Epilogue epilogue(call.FindInput("x_scale")->view, call.FindInput("weight_scale")->view,
                          *call.FindInput("bias"));
  const BoundInput& x_offset = *call.FindInput("x_offset");
  const BoundInput& weight_sum = *call.FindInput("weight_sum");
  std::vector<int32_t> offsets;
  std::vector<int32_t> sums;
  cpu::Int8Offset offset;
  if (x_offset.present) {
    offsets = Integers(x_offset.view);
    sums = weight_sum.present ? Integers(weight_sum.view) : RowSums(weight);
    offset = {offsets.data(), sums.data()};
  }
  const Target y(outputs[0]);
  cpu::Int8Product(x.rows(), weight.rows(), x.width(), Int8RowsOf(x), Int8RowsOf(weight), offset,
                   epilogue.dot(), y.dot());
  y.Finish();
}

void RunFp8ScaledMm(const Resolved& call, std::span<const Tensor> outputs) {
  if (outputs[0].numel() == 0) return;
  const Operand x(call.inputs[0].view);
  const Operand weight(call.inputs[1].view);
  const Epilogue epilogue(call.FindInput("x_scale")->view, call.FindInput("weight_scale")->view,
                          *call.FindInput("bias"));
  const Target y(outputs[0]);
  cpu::DotProduct(x.rows(), weight.rows(), x.width(), x.dot(), weight.dot(), epilogue.dot(),
                  y.dot());
  y.Finish();
}

void RunFp8BlockwiseScaledMm(const Resolved& call, std::span<const Tensor> outputs) {
  if (outputs[0].numel() == 0) return;
  const Operand x(call.inputs[0].view, Operand::Strides::kUnit);
  const Operand weight(call.inputs[1].view, Operand::Strides::kUnit);
  const std::vector<float> x_scale = Floats(call.FindInput("x_scale")->view);
  const std::vector<float> weight_scale = Floats(call.FindInput("weight_scale")->view);
  const int64_t blocks = x.width() / cpu::kDotScaleBlock;
  cpu::DotOperand a = x.dot();
  a.scale = x_scale.data();
  a.scale_row_stride = blocks;
  a.scale_stride = 1;
  cpu::DotOperand b = weight.dot();
  b.scale = weight_scale.data();
  b.scale_row_stride = blocks;
  b.scale_stride = 1;
  b.rows_per_scale = cpu::kDotScaleBlock;
  const Target y(outputs[0]);
  cpu::DotProduct(x.rows(), weight.rows(), x.width(), a, b, {}, y.dot());
  y.Finish();
}

void RunW8a8DynamicLinear(const Resolved& call, std::span<const Tensor> outputs) {
  CheckInt8Width(call);
  if (outputs[0].numel() == 0) return;
  const std::vector<Buffer> quantised = QuantisedRows(call);
  const Operand x(quantised[0].tensor());
  const Operand weight(call.inputs[1].view, Operand::Strides::kUnit);
  const Epilogue epilogue(quantised[1].tensor(), call.FindInput("weight_scale")->view,
                          *call.FindInput("bias"));
  const Target y(outputs[0]);
  cpu::Int8Product(x.rows(), weight.rows(), x.width(), Int8RowsOf(x), Int8RowsOf(weight), {},
                   epilogue.dot(), y.dot());
  y.Finish();
}

}  // namespace tenon::ops::linear
