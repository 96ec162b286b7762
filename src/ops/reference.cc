#include "ops/reference.h"

#include "base/dtype.h"
#include "base/error.h"
#include "ir/interpreter.h"
#include "ops/dense.h"

namespace tenon::ops {
namespace {

// With `tokens` in place of the leading axes.
std::vector<int64_t> BodyShape(const Resolved& call, const std::vector<ir::Axis>& axes) {
  std::vector<int64_t> shape;
  for (const ir::Axis& axis : axes) shape.push_back(axis.size.Eval(call.sizes));
  return shape;
}

// What the function of an operator without a body gives.
std::vector<ir::HostArray> FunctionValues(const Resolved& call) {
  std::vector<Buffer> buffers;
  std::vector<Tensor> results;
  for (const BoundOutput& output : call.outputs) {
    results.push_back(buffers.emplace_back(output.spec).tensor());
  }
  call.op->contract().function()(call, OutputViews(call, results));
  std::vector<ir::HostArray> values;
  for (const Tensor& result : results) values.push_back(ir::LoadTensor(result));
  return values;
}

}  // namespace

std::vector<ir::HostArray> ReferenceValues(const Resolved& call) {
  if (call.op->contract().function() != nullptr) return FunctionValues(call);
  ir::RunInputs inputs;
  inputs.sizes = call.sizes;
  inputs.attributes = call.attributes;
  inputs.storage = call.storage;
  std::vector<Buffer> dense;
  for (const BoundInput& input : call.inputs) {
    if (!input.present || input.param->outside_body) continue;
    const bool stored = input.param->elem == ir::Elem::Storage();
    const DType read = input.param->integers ? DType::kF32 : input.view.dtype;
    dense.push_back(DenseCopy(input.view, stored ? call.storage : read));
    inputs.tensors[input.param->name] =
        MakeTensor(dense.back().tensor().data, dense.back().tensor().dtype,
                   BodyShape(call, input.param->axes));
  }
  return ir::Interpret(call.variant->graph, inputs);
}

void RunReference(const Resolved& call, std::span<const Tensor> outputs) {
  if (const OperatorFunction function = call.op->contract().function()) {
    function(call, outputs);
    return;
  }
  const std::vector<ir::HostArray> values = ReferenceValues(call);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (call.outputs[i].none) continue;
    Tensor target = outputs[i];
    Buffer dense({target.dtype, values[i].shape});
    ir::StoreTensor(values[i], dense.tensor());
    CopyStrided(MakeTensor(dense.tensor().data, target.dtype, target.shape()), target);
  }
}

}  // namespace tenon::ops
