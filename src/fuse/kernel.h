// A body made into a loaded CPU kernel, and calls of it by names of tensors.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "emit/plan.h"
#include "fuse/compile.h"
#include "ir/ir.h"
#include "tenon/tensor.h"

namespace tenon::fuse {

// A dense tensor with its memory.
class HostTensor {
 public:
  HostTensor() = default;
  HostTensor(DType dtype, std::vector<int64_t> shape);
  const Tensor& view() const { return view_; }
  const std::vector<uint8_t>& bytes() const { return *bytes_; }

 private:
  std::shared_ptr<std::vector<uint8_t>> bytes_;
  Tensor view_;
};

using TensorMap = std::map<std::string, Tensor, std::less<>>;
using ScalarMap = std::map<std::string, double, std::less<>>;

struct Kernel {
  std::string name;
  ir::Graph graph;  // primitive nodes only
  emit::RowPlan plan;
  std::string source;
  DType storage = DType::kF32;
  std::shared_ptr<const KernelLibrary> library;

  void Run(const TensorMap& tensors, const ir::Bindings& sizes, const ScalarMap& scalars) const;
};

// Plans, emits, compiles and loads. UsageError when the graph cannot be a row-wise kernel.
Kernel BuildKernel(const ir::Graph& graph, DType storage, const std::string& computes);

// The element type of a value when T is `storage`; parameters are `storage`, indices int64.
DType BoundType(const ir::Elem& elem, DType storage);
// A tensor for a value of the graph.
HostTensor MakeFor(const ir::Type& type, DType storage, const ir::Bindings& sizes);

}  // namespace tenon::fuse
