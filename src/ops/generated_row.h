// The kernels that the build generated from a contract's bodies, called with a resolved call.
#pragma once

#include <span>
#include <vector>

#include "backend/cpu/row_kernel.h"
#include "backend/cpu/targets.h"
#include "ops/resolve.h"

namespace tenon::ops {

// The kernel of the call's variant.
const cpu::RowKernel& GeneratedKernel(const Resolved& call);

// A kernel of the call's body, compiled at build or at run time, with its arguments bound: running
// it again costs no look-ups. The memory of arguments and outputs is the caller's.
class GeneratedCall {
 public:
  GeneratedCall(const cpu::RowKernel& kernel, const Resolved& call,
                std::span<const Tensor> outputs);
  GeneratedCall(const Resolved& call, std::span<const Tensor> outputs)
      : GeneratedCall(GeneratedKernel(call), call, outputs) {}
  void Run(cpu::Target target = cpu::ChosenTarget()) const;

 private:
  const cpu::RowKernel& kernel_;
  int lead_rank_;
  DType storage_;
  std::vector<Tensor> tensors_;
  std::vector<Buffer> casts_;  // inputs that were cast to the storage type first
  std::vector<int64_t> sizes_;
  std::vector<float> scalars_;
};

void RunGenerated(const cpu::RowKernel& kernel, cpu::Target target, const Resolved& call,
                  std::span<const Tensor> outputs);

}  // namespace tenon::ops
