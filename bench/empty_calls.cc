// What PyTorch itself takes for a call: operators with the schemas of Tenon's that allocate their
// results and do nothing else. bench/call_overhead.py compiles it.
#include <torch/csrc/stable/c/shim.h>
#include <torch/headeronly/version.h>

#include <cstdint>

namespace {

// `kinds` has a letter per argument: t tensor, o optional tensor, i optional int, f float.
template <int results>
void Empty(StableIValue* stack, const char* kinds) {
  const auto first = reinterpret_cast<AtenTensorHandle>(stack[0]);
  int64_t rank = 0;
  int64_t* sizes = nullptr;
  int64_t* strides = nullptr;
  int32_t dtype = 0;
  aoti_torch_get_dim(first, &rank);
  aoti_torch_get_sizes(first, &sizes);
  aoti_torch_get_strides(first, &strides);
  aoti_torch_get_dtype(first, &dtype);
  AtenTensorHandle made[results];
  for (AtenTensorHandle& result : made) {
    aoti_torch_empty_strided(rank, sizes, strides, dtype, aoti_torch_device_type_cpu(), 0, &result);
  }
  for (int i = 0; kinds[i] != '\0'; ++i) {
    const bool optional = kinds[i] == 'o' || kinds[i] == 'i';
    auto* boxed = reinterpret_cast<StableIValue*>(stack[i]);
    if (optional && boxed == nullptr) continue;
    const StableIValue value = optional ? *boxed : stack[i];
    if (optional) delete boxed;
    if (kinds[i] == 't' || kinds[i] == 'o') {
      aoti_torch_delete_tensor_object(reinterpret_cast<AtenTensorHandle>(value));
    }
  }
  for (int i = 0; i < results; ++i) stack[i] = reinterpret_cast<StableIValue>(made[i]);
}

void Norm(StableIValue* stack, uint64_t, uint64_t) { Empty<1>(stack, "tofoif"); }
void AddNorm(StableIValue* stack, uint64_t, uint64_t) { Empty<2>(stack, "ttofof"); }

const bool registered = [] {
  TorchLibraryHandle definitions = nullptr;
  TorchLibraryHandle cpu = nullptr;
  aoti_torch_library_init_def("tenon_empty", "empty_calls.cc", 1, &definitions);
  aoti_torch_library_init_impl("tenon_empty", "CPU", "empty_calls.cc", 1, &cpu);
  aoti_torch_library_def(definitions,
                         "rms_norm(Tensor x, Tensor? weight, float eps=1e-6, *, Tensor? bias=None, "
                         "int? variance_size=None, float weight_offset=0.0) -> Tensor");
  aoti_torch_library_def(definitions,
                         "fused_add_rms_norm(Tensor x, Tensor residual, Tensor? weight, float "
                         "eps=1e-6, *, Tensor? bias=None, float weight_offset=0.0) -> (Tensor, "
                         "Tensor)");
  torch_library_impl(cpu, "rms_norm", Norm, TORCH_ABI_VERSION);
  torch_library_impl(cpu, "fused_add_rms_norm", AddNorm, TORCH_ABI_VERSION);
  return true;
}();

}  // namespace
