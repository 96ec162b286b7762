// Calls that were resolved before. A model calls an operator with the same shapes, strides, types
// and attributes over and over: those are resolved once per thread, and what is left of a repeated
// call's checks is what depends on pointers.
#pragma once

#include <span>
#include <vector>

#include "ops/resolve.h"
#include "tenon/c.h"

namespace tenon::ops {

struct Kernel;

class RepeatedCall {
 public:
  const Resolved& call() const { return call_; }

  // Into the caller's results; UsageError when they do not fit.
  void Run(std::span<const Tensor> results);

  // Into results that `allocate` is asked for, one after the other, once a kernel has taken the
  // call: allocate(number, tensor) gets a tensor that is described but for its memory, which it
  // gives (or it writes over all of it); false ends the call.
  template <typename Allocate>
  bool RunInto(Allocate allocate);

  // Of result `number`, for the C ABI.
  const TenonSpec& spec(size_t number) const { return specs_[number]; }

 private:
  friend class CallCache;

  // The bytes around a tensor's pointer that it may touch, and what its pointer must be like.
  struct Reach {
    explicit Reach(const Tensor& tensor);
    bool Fits(const void* data) const {
      return (reinterpret_cast<uintptr_t>(data) & alignment_mask) == 0 &&
             (data != nullptr || empty);
    }
    int64_t low;
    int64_t high;
    uintptr_t alignment_mask;
    bool empty;
  };
  static bool Apart(const Reach& a, const void* a_data, const Reach& b, const void* b_data);

  // A tensor argument, and the input that it is.
  struct Pointer {
    int argument;
    int input;
    bool written;
    Reach reach;
  };
  void Remember(std::span<const uint64_t> key, uint64_t hash, Resolved call);
  template <typename DataOf>
  void Rebind(DataOf data_of);
  bool WrittenApart() const;
  bool SameLayout(std::span<const Tensor> results) const;
  bool ResultsApart(std::span<const Tensor> results) const;
  std::span<const Tensor> Views(std::span<const Tensor> results);
  const Kernel& Choose() const;
  void RunKernel(const Kernel& kernel, std::span<const Tensor> results);

  // Everything that Resolve reads but pointers, which count only by their presence.
  std::vector<uint64_t> key_;
  uint64_t hash_ = 0;
  Resolved call_;
  std::vector<Pointer> pointers_;
  std::vector<TenonSpec> specs_;       // of the results
  std::vector<Tensor> given_;          // results being allocated
  std::vector<Tensor> results_;        // the last ones
  std::vector<Reach> result_reaches_;  // of them
  std::vector<Tensor> views_;          // OutputViews of them
};

// Resolve(form, arguments). Valid until this thread's next call.
RepeatedCall& ResolveRepeated(const OperatorForm& form, std::span<const Argument> arguments);
// The same from the C ABI's arguments, which are converted the first time only.
RepeatedCall& ResolveRepeated(const OperatorForm& form, const TenonArgument* arguments,
                              int64_t count);

template <typename Allocate>
bool RepeatedCall::RunInto(Allocate allocate) {
  const Kernel& kernel = Choose();
  for (size_t i = 0; i < given_.size(); ++i) {
    if (!allocate(i, given_[i])) return false;
  }
  RunKernel(kernel, given_);
  return true;
}

}  // namespace tenon::ops
