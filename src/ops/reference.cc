#include "ops/reference.h"

#include <algorithm>
#include <cmath>

#include "base/dtype.h"
#include "base/error.h"
#include "ir/interpreter.h"
#include "ir/transform.h"
#include "ops/dense.h"
#include "ops/structural.h"

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
  // What an in-place form writes are its arguments.
  for (const BoundOutput& output : call.outputs) {
    if (call.in_place != nullptr) break;
    results.push_back(buffers.emplace_back(output.spec).tensor());
  }
  const std::vector<Tensor> views = OutputViews(call, results);
  FunctionOf (*call.op)(call, views);
  std::vector<ir::HostArray> values;
  for (size_t i = 0; i < views.size(); ++i) {
    values.push_back(ir::LoadTensor(call.outputs[i].none ? results[i] : views[i]));
  }
  return values;
}

std::vector<ir::HostArray> Interpreted(const Resolved& call, const ir::Graph& graph) {
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
  return ir::Interpret(graph, inputs);
}

// Nodes that depend on a product; with `last` on the last of the products in a row only.
std::vector<bool> BehindProducts(const ir::Graph& graph, bool last) {
  std::vector<int> products;  // on the longest way to the node
  int most = 0;
  for (const ir::Node& node : graph.nodes()) {
    int own = 0;
    for (ir::NodeId arg : node.args) own = std::max(own, products[static_cast<size_t>(arg)]);
    products.push_back(own + (node.op == ir::Op::kMatmul));
    most = std::max(most, products.back());
  }
  std::vector<bool> behind;
  for (int own : products) behind.push_back(own >= (last ? most : 1));
  return behind;
}

// The graph in which what meets those products is a magnitude.
ir::Graph MagnitudeGraph(const ir::Graph& graph, bool last) {
  const std::vector<bool> behind = BehindProducts(graph, last);
  ir::GraphCopy copy(graph);
  for (ir::NodeId id = 0; id < static_cast<ir::NodeId>(graph.nodes().size()); ++id) {
    ir::Node node = copy.Remapped(id);
    if (behind[static_cast<size_t>(id)]) {
      for (size_t i = 0; i < node.args.size(); ++i) {
        const ir::NodeId arg = graph.node(id).args[i];
        if (behind[static_cast<size_t>(arg)] || !graph.node(arg).type.elem.is_float()) continue;
        ir::Node magnitude;
        magnitude.op = ir::Op::kAbs;
        magnitude.args = {node.args[i]};
        node.args[i] = copy.Add(std::move(magnitude));
      }
    }
    copy.Set(id, copy.Add(std::move(node)));
  }
  copy.CopyOutputs();
  return std::move(copy.graph());
}

}  // namespace

std::vector<ir::HostArray> ReferenceValues(const Resolved& call) {
  if (!call.op->contract().has_body()) return FunctionValues(call);
  return Interpreted(call, call.variant->graph);
}

Magnitudes ProductMagnitudes(const Resolved& call) {
  if (call.op->contract().function() != nullptr) {
    Resolved magnitudes = call;
    std::vector<Buffer> buffers;
    for (BoundInput& input : magnitudes.inputs) {
      if (!input.present) continue;
      const Buffer& dense = buffers.emplace_back(DenseCopy(input.view, input.view.dtype));
      input.view = input.tensor = dense.tensor();
      for (int64_t i = 0; i < input.tensor.numel(); ++i) {
        const double value = LoadElement(input.tensor.data, input.tensor.dtype, i);
        StoreElement(input.tensor.data, input.tensor.dtype, i, std::abs(value));
      }
    }
    std::vector<ir::HostArray> values = FunctionValues(magnitudes);
    return {values, values};
  }
  const ir::Graph& graph = call.variant->graph;
  return {Interpreted(call, MagnitudeGraph(graph, /*last=*/false)),
          Interpreted(call, MagnitudeGraph(graph, /*last=*/true))};
}

void RunReference(const Resolved& call, std::span<const Tensor> outputs) {
  if (!call.op->contract().has_body()) {
    FunctionOf (*call.op)(call, outputs);
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
