#include "fuse/chain_run.h"

#include <future>

#include "base/error.h"

namespace tenon::fuse {

UnfusedKernels::UnfusedKernels(const ir::Graph& body, DType storage)
    : body_(body), storage_(storage), steps_(UnfusedChain(body)) {
  // Compilers run side by side: a chain has a handful of steps, each takes seconds.
  std::vector<std::future<Kernel>> building;
  for (const ChainStep& step : steps_) {
    building.push_back(std::async(std::launch::async, [&step, storage] {
      return BuildKernel(step.graph, storage, "one step of the unfused chain");
    }));
  }
  for (std::future<Kernel>& kernel : building) kernels_.push_back(kernel.get());
}

UnfusedKernels::Buffers UnfusedKernels::Allocate(const TensorMap& inputs,
                                                 const ir::Bindings& sizes) const {
  Buffers buffers;
  for (const ChainStep& step : steps_) {
    TensorMap tensors;
    const auto names = step.graph.inputs();
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      const ir::Node& node = body_.node(step.inputs[i]);
      const std::string& name = step.graph.node(names[i]).name;
      tensors[name] = node.op == ir::Op::kInput ? inputs.find(node.name)->second
                                                : buffers.Value(step.inputs[i]).view();
    }
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      const ir::Output& output = step.graph.outputs()[i];
      const HostTensor value = MakeFor(step.graph.node(output.value).type, storage_, sizes);
      buffers.values[step.outputs[i]] = value;
      tensors[output.name] = value.view();
    }
    buffers.tensors.push_back(std::move(tensors));
  }
  return buffers;
}

void UnfusedKernels::Run(const Buffers& buffers, const ir::Bindings& sizes,
                         const ScalarMap& scalars) const {
  for (size_t i = 0; i < kernels_.size(); ++i) kernels_[i].Run(buffers.tensors[i], sizes, scalars);
}

}  // namespace tenon::fuse
