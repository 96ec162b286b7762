#include "fuse/kernel.h"

#include "base/error.h"
#include "emit/emit_cpp.h"
#include "ops/row_driver.h"

namespace tenon::fuse {

HostTensor::HostTensor(DType dtype, std::vector<int64_t> shape) {
  int64_t numel = 1;
  for (const int64_t size : shape) numel *= size;
  bytes_ = std::make_shared<std::vector<uint8_t>>(static_cast<size_t>(numel * ItemSize(dtype)));
  view_ = MakeTensor(bytes_->data(), dtype, shape);
}

Kernel BuildKernel(const ir::Graph& graph, DType storage, const std::string& computes) {
  Kernel kernel;
  kernel.name = graph.name();
  kernel.graph = graph;
  kernel.storage = storage;
  kernel.plan = emit::MakeRowPlan(kernel.graph);
  const emit::CppKernel text{kernel.name, "", computes, &kernel.graph};
  kernel.source = emit::EmitCppRuntimeFile(text, storage);
  kernel.library = CompileKernel(kernel.source, cpu::ChosenTarget());
  return kernel;
}

void Kernel::Run(const TensorMap& tensors, const ir::Bindings& sizes,
                 const ScalarMap& scalars) const {
  const cpu::RowKernel& row = library->kernel();
  std::vector<Tensor> arguments;
  for (int i = 0; i < row.num_tensors; ++i) {
    const auto found = tensors.find(row.tensors[i].name);
    TENON_ASSERT(found != tensors.end(), "{}: no tensor {}", name, row.tensors[i].name);
    arguments.push_back(found->second);
  }
  std::vector<int64_t> values;
  for (int i = 0; i < row.num_sizes; ++i) values.push_back(ir::Dim(row.sizes[i]).Eval(sizes));
  std::vector<float> attributes;
  for (int i = 0; i < row.num_scalars; ++i) {
    const auto found = scalars.find(row.scalars[i]);
    TENON_ASSERT(found != scalars.end(), "{}: no value for {}", name, row.scalars[i]);
    attributes.push_back(static_cast<float>(found->second));
  }
  // A run-time kernel has one entry, for the target it was compiled for, in the first slot.
  ops::RunRowKernel(row, static_cast<cpu::Target>(0), {arguments, 1, values, attributes, storage});
}

DType BoundType(const ir::Elem& elem, DType storage) {
  if (elem.concrete()) return elem.dtype;
  return elem == ir::Elem::Index() ? DType::kI64 : storage;
}

HostTensor MakeFor(const ir::Type& type, DType storage, const ir::Bindings& sizes) {
  std::vector<int64_t> shape;
  for (const ir::Axis& axis : type.axes) shape.push_back(axis.size.Eval(sizes));
  return {BoundType(type.elem, storage), shape};
}

}  // namespace tenon::fuse
