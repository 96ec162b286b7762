// Registers every operator of the library with PyTorch, when the extension is loaded.
#include <torch/csrc/stable/c/shim.h>
#include <torch/headeronly/version.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "torch/call.h"
#include "torch/threads.h"

namespace tenon::torch {
namespace {

// The stable ABI gives a kernel no context: every schema has a function of its own that knows its
// number. An operator has a functional form, an `.out` overload and at most two in-place forms.
constexpr size_t kOperators = 0
#define TENON_OP(family, name) +1  // NOLINT: the terms of a sum
#include "ops/ops.def"
#undef TENON_OP
    ;
constexpr size_t kSlots = 4 * kOperators;

using Kernel = void (*)(StableIValue* stack, uint64_t num_arguments, uint64_t num_results);

Form g_forms[kSlots];
std::string g_error;  // why registration failed, or empty

template <size_t slot, bool on_cpu>
void Run(StableIValue* stack, uint64_t, uint64_t) {
  Call(g_forms[slot], on_cpu, stack);
}

template <bool on_cpu, size_t... slots>
constexpr std::array<Kernel, kSlots> MakeKernels(std::index_sequence<slots...>) {
  return {Run<slots, on_cpu>...};
}
constexpr auto kSlotNumbers = std::make_index_sequence<kSlots>();
constexpr std::array<Kernel, kSlots> kCpuKernels = MakeKernels<true>(kSlotNumbers);
constexpr std::array<Kernel, kSlots> kKernels = MakeKernels<false>(kSlotNumbers);

void Check(AOTITorchError status, const std::string& what) {
  if (status != AOTI_TORCH_SUCCESS) throw std::runtime_error("PyTorch refused " + what);
}

class Registration {
 public:
  Registration() {
    Check(aoti_torch_library_init_def("tenon", __FILE__, __LINE__, &definitions_),
          "the library tenon");
    for (const auto& [key, library] :
         {std::pair{"CPU", &cpu_}, {"CUDA", &cuda_}, {"CompositeExplicitAutograd", &any_}}) {
      Check(aoti_torch_library_init_impl("tenon", key, __FILE__, __LINE__, library), key);
    }
  }

  void Run() {
    const int64_t count = tenon_num_ops();
    if (count < 0) throw std::runtime_error(tenon_last_error());
    for (int64_t i = 0; i < count; ++i) {
      Form form;
      form.name = tenon_op_name(i);
      form.op = tenon_find(form.name.c_str());
      form.num_parameters =
          static_cast<int>(tenon_parameters(form.op, form.parameters.data(), kMaxArguments));
      form.num_results = static_cast<int>(tenon_num_results(form.op));
      form.result_kind = tenon_result_kind(form.op);
      if (form.num_parameters + form.num_results > kMaxArguments ||
          form.num_results > kMaxResults) {
        throw std::runtime_error(form.name + " has more arguments than the extension allows");
      }
      Add(form, form.name, tenon_schema(form.op));
      const char* out_schema = tenon_out_schema(form.op);
      if (*out_schema == '\0') continue;
      form.out = true;
      Add(form, form.name + ".out", out_schema);
    }
  }

 private:
  void Add(const Form& form, const std::string& overload, const char* schema) {
    if (used_ == kSlots) throw std::runtime_error("more schemas than the extension allows");
    Check(aoti_torch_library_def(definitions_, schema), schema);
    const size_t slot = used_++;
    g_forms[slot] = form;
    const auto implement = [&](TorchLibraryHandle library, Kernel kernel) {
      Check(torch_library_impl(library, overload.c_str(), kernel, TORCH_ABI_VERSION), overload);
    };
    if (form.takes_tensors()) {
      implement(cpu_, kCpuKernels[slot]);
      implement(cuda_, kKernels[slot]);  // the operator's kernels say which devices they take
    } else {
      implement(any_, kKernels[slot]);
    }
  }

  TorchLibraryHandle definitions_ = nullptr;
  TorchLibraryHandle cpu_ = nullptr;
  TorchLibraryHandle cuda_ = nullptr;
  TorchLibraryHandle any_ = nullptr;
  size_t used_ = 0;
};

const bool kRegistered = [] {
  try {
    // Lives as long as the process: its end would take the operators away.
    auto* const registration = new Registration;
    registration->Run();
    UseTorchThreads();
    return true;
  } catch (const std::exception& error) {
    g_error = error.what();
    return false;
  }
}();

}  // namespace
}  // namespace tenon::torch

// The sentence why the operators are not there, or "". Loading a library cannot fail with one.
extern "C" TENON_API const char* tenon_torch_error() { return tenon::torch::g_error.c_str(); }
