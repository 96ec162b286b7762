#include "ops/generated_row.h"

#include <cstddef>
#include <string_view>

#include "base/error.h"
#include "ops/dense.h"
#include "ops/kernel_list.h"
#include "ops/row_driver.h"

namespace tenon::ops {
namespace {

float ScalarOf(const Resolved& call, const char* name) {
  const ir::AttrValue& value = call.attributes.at(name);
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? 1.0f : 0.0f;
  return static_cast<float>(std::get<double>(value));
}

// A tensor without elements may have no memory, but for the driver null means that it is not there.
Tensor WithMemory(Tensor tensor) {
  alignas(8) static std::byte nowhere[8];
  if (tensor.data == nullptr && tensor.numel() == 0) tensor.data = nowhere;
  return tensor;
}

// Null data for what is not there.
Tensor TensorOf(const Resolved& call, std::span<const Tensor> outputs,
                const cpu::RowTensorInfo& info) {
  if (!info.is_output) {
    const BoundInput* input = call.FindInput(info.name);
    TENON_ASSERT(input != nullptr, "{}: the kernel reads {}", call.name(), info.name);
    return input->present ? WithMemory(input->view) : Tensor{};
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (call.outputs[i].param->name == info.name) return WithMemory(outputs[i]);
  }
  throw InternalError(__FILE__, __LINE__,
                      fmt::format("{}: the kernel writes {}", call.name(), info.name));
}

}  // namespace

const cpu::RowKernel& GeneratedKernel(const Resolved& call) {
  const auto index = static_cast<size_t>(call.op - Operators().data());
  const KernelListEntry& entry = GeneratedKernels()[index];
  for (int i = 0; i < *entry.count; ++i) {
    if (call.variant->name == entry.kernels[i].variant) return entry.kernels[i];
  }
  throw InternalError(__FILE__, __LINE__,
                      fmt::format("{} has no kernel of {}", call.name(), call.variant->name));
}

GeneratedCall::GeneratedCall(const cpu::RowKernel& kernel, const Resolved& call,
                             std::span<const Tensor> outputs)
    : kernel_(kernel), lead_rank_(static_cast<int>(call.lead.size())), storage_(call.storage) {
  for (int i = 0; i < kernel.num_tensors; ++i) {
    Tensor tensor = TensorOf(call, outputs, kernel.tensors[i]);
    const bool stored = !kernel.tensors[i].is_output && tensor.data != nullptr &&
                        call.FindInput(kernel.tensors[i].name)->param->elem == ir::Elem::Storage();
    if (stored && tensor.dtype != call.storage) {
      casts_.push_back(DenseCopy(tensor, call.storage));
      tensor = casts_.back().tensor();
    }
    tensors_.push_back(tensor);
  }
  for (int i = 0; i < kernel.num_sizes; ++i) sizes_.push_back(call.sizes.at(kernel.sizes[i]));
  for (int i = 0; i < kernel.num_scalars; ++i) {
    scalars_.push_back(ScalarOf(call, kernel.scalars[i]));
  }
}

void GeneratedCall::Run(cpu::Target target) const {
  RunRowKernel(kernel_, target, {tensors_, lead_rank_, sizes_, scalars_, storage_});
}

void RunGenerated(const cpu::RowKernel& kernel, cpu::Target target, const Resolved& call,
                  std::span<const Tensor> outputs) {
  GeneratedCall(kernel, call, outputs).Run(target);
}

}  // namespace tenon::ops
