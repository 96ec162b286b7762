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

// Where a kernel finds its arguments in a resolved call. Made once for a call that is repeated.
class RowBinding {
 public:
  RowBinding(const cpu::RowKernel& kernel, const Resolved& call);
  // `call` is the one of the constructor, or a copy with other pointers. Not from several threads.
  void Run(cpu::Target target, const Resolved& call, std::span<const Tensor> outputs);

 private:
  struct Source {
    bool is_output;
    bool is_stored;  // an input with elements of the storage type, to which it may have to be cast
    int number;      // in the call's inputs or outputs
  };
  const cpu::RowKernel& kernel_;
  std::vector<Source> sources_;
  std::vector<int64_t> sizes_;
  std::vector<float> scalars_;
  std::vector<Tensor> tensors_;  // of the call being run
  bool inputs_laid_out_ =
      false;  // sizes and strides of the inputs in tensors_ are those of the call
};

// A kernel of the call's body, compiled at build or at run time, with its arguments bound: running
// it again costs no look-ups. The memory of arguments and outputs is the caller's.
class GeneratedCall {
 public:
  GeneratedCall(const cpu::RowKernel& kernel, const Resolved& call, std::span<const Tensor> outputs)
      : binding_(kernel, call), call_(call), outputs_(outputs.begin(), outputs.end()) {}
  GeneratedCall(const Resolved& call, std::span<const Tensor> outputs)
      : GeneratedCall(GeneratedKernel(call), call, outputs) {}
  void Run(cpu::Target target = cpu::ChosenTarget()) const {
    binding_.Run(target, call_, outputs_);
  }

 private:
  mutable RowBinding binding_;
  Resolved call_;
  std::vector<Tensor> outputs_;
};

// The kernel of the call's variant, its look-ups kept in the call.
void RunGenerated(cpu::Target target, const Resolved& call, std::span<const Tensor> outputs);

}  // namespace tenon::ops
