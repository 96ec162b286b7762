// Which kernel runs a call: an ordered list per operator, the best first. A kernel that declines
// says why.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ops/resolve.h"

namespace tenon::ops {

struct Kernel {
  std::string_view name;  // "cpu.row": backend, and how it was made
  std::optional<std::string> (*declines)(const Resolved& call);  // the reason, or none
  void (*run)(const Resolved& call, std::span<const Tensor> outputs);
};

std::span<const Kernel> KernelsOf(const Operator& op);

std::optional<std::string> DeclinesOffCpu(const Resolved& call);

// The first kernel that takes the call. UsageError with all reasons when none does; with
// TENON_LOG=dispatch every answer is printed on standard error.
const Kernel& ChooseKernel(const Resolved& call);

// `outputs` are those of OutputViews.
void Dispatch(const Resolved& call, std::span<const Tensor> outputs);

}  // namespace tenon::ops
