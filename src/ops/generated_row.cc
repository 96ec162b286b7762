#include "ops/generated_row.h"

#include <cstddef>
#include <string_view>

#include "base/error.h"
#include "ops/dense.h"
#include "ops/kernel_list.h"
#include "ops/row_driver.h"
#include "ops/row_limit.h"

namespace tenon::ops {
namespace {

float ScalarOf(const Resolved& call, const char* name) {
  const ir::AttrValue& value = call.attributes.at(name);
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? 1.0f : 0.0f;
  if (const auto* v = std::get_if<int64_t>(&value)) return static_cast<float>(*v);
  return static_cast<float>(std::get<double>(value));
}

// A tensor without elements may have no memory, but for the driver null means that it is not there.
void GiveMemory(Tensor& tensor) {
  alignas(8) static std::byte nowhere[8];
  if (tensor.data == nullptr && tensor.numel() == 0) tensor.data = nowhere;
}

}  // namespace

const cpu::RowKernel& GeneratedKernel(const Resolved& call) {
  const auto index = static_cast<size_t>(call.op - Operators().data());
  const KernelListEntry& entry = GeneratedKernels()[index];
  TENON_CHECK(entry.kernels != nullptr, "{}: has no kernel of rows to be timed", call.name());
  for (int i = 0; i < *entry.count; ++i) {
    if (call.variant->name == entry.kernels[i].variant) return entry.kernels[i];
  }
  throw InternalError(__FILE__, __LINE__,
                      fmt::format("{} has no kernel of {}", call.name(), call.variant->name));
}

RowBinding::RowBinding(const cpu::RowKernel& kernel, const Resolved& call) : kernel_(kernel) {
  for (int i = 0; i < kernel.num_tensors; ++i) {
    const cpu::RowTensorInfo& tensor = kernel.tensors[i];
    Source source{tensor.is_output, false, -1};
    for (size_t k = 0; tensor.is_output && k < call.outputs.size(); ++k) {
      if (call.outputs[k].param->name == tensor.name) source.number = static_cast<int>(k);
    }
    for (size_t k = 0; !tensor.is_output && k < call.inputs.size(); ++k) {
      if (call.inputs[k].param->name != tensor.name) continue;
      source.number = static_cast<int>(k);
      source.is_stored = call.inputs[k].param->elem == ir::Elem::Storage();
    }
    TENON_ASSERT(source.number >= 0, "{}: the kernel needs {}", call.name(), tensor.name);
    sources_.push_back(source);
  }
  for (int i = 0; i < kernel.num_sizes; ++i) sizes_.push_back(call.sizes.at(kernel.sizes[i]));
  for (int i = 0; i < kernel.num_scalars; ++i) {
    scalars_.push_back(ScalarOf(call, kernel.scalars[i]));
  }
  tensors_.resize(sources_.size());
}

void RowBinding::Run(cpu::Target target, const Resolved& call, std::span<const Tensor> outputs) {
  std::vector<Buffer> casts;
  for (size_t i = 0; i < sources_.size(); ++i) {
    const Source& source = sources_[i];
    const auto number = static_cast<size_t>(source.number);
    if (!source.is_output && !call.inputs[number].present) continue;  // stays null
    const Tensor& given = source.is_output ? outputs[number] : call.inputs[number].view;
    Tensor& tensor = tensors_[i];
    if (source.is_stored && given.dtype != call.storage) {
      tensor = casts.emplace_back(DenseCopy(given, call.storage)).tensor();
    } else if (source.is_output || !inputs_laid_out_) {
      tensor = given;
    } else {
      tensor.data = given.data;
    }
    GiveMemory(tensor);
  }
  inputs_laid_out_ = true;
  const int lead_rank = static_cast<int>(call.lead.size());
  RunRowKernel(kernel_, target,
               {tensors_, lead_rank, sizes_, scalars_, call.storage, RowsToCompute(call)});
}

void RunGenerated(cpu::Target target, const Resolved& call, std::span<const Tensor> outputs) {
  if (call.row_binding == nullptr) {
    call.row_binding = std::make_shared<RowBinding>(GeneratedKernel(call), call);
  }
  call.row_binding->Run(target, call, outputs);
}

}  // namespace tenon::ops
