// A call from PyTorch's boxed stack to the C ABI.
#pragma once

#include <torch/csrc/stable/c/shim.h>

#include <array>
#include <cstdint>
#include <string>

#include "tenon/c.h"

namespace tenon::torch {

inline constexpr int kMaxArguments = 32;
inline constexpr int kMaxResults = 8;

// One schema: an operator's functional form, its `.out` overload, or an in-place form.
struct Form {
  const TenonOp* op = nullptr;
  std::string name;
  bool out = false;  // results are further arguments, and nothing is returned
  int num_parameters = 0;
  int num_results = 0;
  int32_t result_kind = TENON_TENSOR;  // tenon_result_kind
  std::array<TenonParameter, kMaxArguments> parameters{};

  int num_arguments() const { return num_parameters + (out ? num_results : 0); }
  bool takes_tensors() const;
};

// `stack` holds the arguments, which it owns; the results take their place. `on_cpu`: PyTorch chose
// the kernel of the CPU, which it does when every tensor is there. std::runtime_error with Tenon's
// sentence when the call is refused.
void Call(const Form& form, bool on_cpu, StableIValue* stack);

}  // namespace tenon::torch
