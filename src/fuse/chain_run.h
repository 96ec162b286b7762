// The unfused chain as kernels of its own, made by the same emitter: what a fused kernel is
// compared with, bit for bit and in time.
#pragma once

#include <vector>

#include "fuse/body.h"
#include "fuse/kernel.h"

namespace tenon::fuse {

class UnfusedKernels {
 public:
  // Compiles one kernel per step of the body.
  UnfusedKernels(const ir::Graph& body, DType storage);

  size_t size() const { return kernels_.size(); }

  // Allocates the intermediate tensors for these sizes; inputs are those of the body.
  struct Buffers {
    std::vector<TensorMap> tensors;           // per step
    std::map<ir::NodeId, HostTensor> values;  // of the body
    const HostTensor& Value(ir::NodeId id) const { return values.at(id); }
  };
  Buffers Allocate(const TensorMap& inputs, const ir::Bindings& sizes) const;
  void Run(const Buffers& buffers, const ir::Bindings& sizes, const ScalarMap& scalars) const;

  const ir::Graph& body() const { return body_; }

 private:
  ir::Graph body_;
  DType storage_;
  std::vector<ChainStep> steps_;
  std::vector<Kernel> kernels_;
};

}  // namespace tenon::fuse
