#include "ops/dispatch.h"

#include <cstdio>

#include "base/dtype.h"
#include "base/env.h"
#include "base/error.h"
#include "base/text.h"
#include "ops/generated_row.h"
#include "ops/structural.h"

namespace tenon::ops {
namespace {

void RunCpuRow(const Resolved& call, std::span<const Tensor> outputs) {
  RunGenerated(cpu::ChosenTarget(), call, outputs);
}

constexpr Kernel kRowWise[] = {{"cpu.row", DeclinesOffCpu, RunCpuRow}};

bool LogsDispatch() {
  static const bool logs = LogsTopic("dispatch");
  return logs;
}

// "rms_norm bf16 x[2, 4096] weight[4096]"
std::string CallText(const Resolved& call) {
  std::string text = fmt::format("{} {}", call.name(), DTypeName(call.storage));
  for (const BoundInput& input : call.inputs) {
    if (input.present) text += " " + input.param->name + ShapeText(input.tensor.shape());
  }
  return text;
}

}  // namespace

std::optional<std::string> DeclinesOffCpu(const Resolved& call) {
  if (call.device == Device::kCpu) return std::nullopt;
  return "the tensors are on " + DeviceText(call.device, call.device_index);
}

std::span<const Kernel> KernelsOf(const Operator& op) {
  return op.contract().structural() ? StructuralKernels(op) : kRowWise;
}

const Kernel& ChooseKernel(const Resolved& call) {
  std::string reasons;
  for (const Kernel& kernel : KernelsOf(*call.op)) {
    const std::optional<std::string> reason = kernel.declines(call);
    if (LogsDispatch()) {
      std::fputs(fmt::format("tenon dispatch: {}: {}: {}\n", CallText(call), kernel.name,
                             reason.value_or("yes"))
                     .c_str(),
                 stderr);
    }
    if (!reason) return kernel;
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", kernel.name, *reason);
  }
  throw UsageError(fmt::format("{}: no kernel takes this call ({})", call.name(), reasons));
}

void Dispatch(const Resolved& call, std::span<const Tensor> outputs) {
  ChooseKernel(call).run(call, outputs);
}

}  // namespace tenon::ops
