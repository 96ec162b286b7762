#include "torch/call.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

namespace tenon::torch {
namespace {

constexpr size_t kMaxNumbers = 512;  // in the lists of one call

// Torch's number of an element type, DLPack's code and width, and Tenon's name where it has one.
struct ElementType {
  int32_t number;
  uint8_t code;
  uint8_t bits;
  const char* name;
};

// Those of Tenon first. Numbers are asked for when the extension is loaded.
const std::array kElementTypes = {
    ElementType{aoti_torch_dtype_float32(), 2, 32, "float32"},
    ElementType{aoti_torch_dtype_bfloat16(), 4, 16, "bfloat16"},
    ElementType{aoti_torch_dtype_float16(), 2, 16, "float16"},
    ElementType{aoti_torch_dtype_int64(), 0, 64, "int64"},
    ElementType{aoti_torch_dtype_int32(), 0, 32, "int32"},
    ElementType{aoti_torch_dtype_int8(), 0, 8, "int8"},
    ElementType{aoti_torch_dtype_float8_e4m3fn(), 10, 8, "float8_e4m3fn"},
    ElementType{aoti_torch_dtype_bool(), 6, 8, "bool"},
    ElementType{aoti_torch_dtype_float64(), 2, 64, "float64"},
    ElementType{aoti_torch_dtype_uint8(), 1, 8, "uint8"},
    ElementType{aoti_torch_dtype_int16(), 0, 16, "int16"},
    ElementType{aoti_torch_dtype_uint16(), 1, 16, "uint16"},
    ElementType{aoti_torch_dtype_uint32(), 1, 32, "uint32"},
    ElementType{aoti_torch_dtype_uint64(), 1, 64, "uint64"},
    ElementType{aoti_torch_dtype_complex64(), 5, 64, "complex64"},
    ElementType{aoti_torch_dtype_complex128(), 5, 128, "complex128"},
    ElementType{aoti_torch_dtype_float8_e5m2(), 12, 8, "float8_e5m2"},
};

const ElementType* FindType(int32_t number) {
  for (const ElementType& type : kElementTypes) {
    if (type.number == number) return &type;
  }
  return nullptr;
}

int32_t NumberOf(const TenonSpec& spec) {
  for (const ElementType& type : kElementTypes) {
    if (type.code == spec.dtype_code && type.bits == spec.dtype_bits) return type.number;
  }
  return -1;
}

[[noreturn]] void Refuse(const Form& form, const char* argument, const std::string& what) {
  throw std::runtime_error(form.name + ": " + argument + " " + what);
}

[[noreturn]] void TorchFailed(const Form& form, const char* what) {
  throw std::runtime_error(form.name + ": PyTorch failed to " + what);
}

// Takes everything from the stack and gives it back to PyTorch at the end.
class Arguments {
 public:
  Arguments(const Form& form, bool on_cpu, StableIValue* stack)
      : form_(form), on_cpu_(on_cpu), count_(form.num_arguments()) {
    for (int i = 0; i < count_; ++i) {
      values_[i] = stack[i];
      present_[i] = true;
      if (i >= form.num_parameters || form.parameters[i].nullable == 0) continue;
      auto* boxed = reinterpret_cast<StableIValue*>(stack[i]);
      present_[i] = boxed != nullptr;
      if (boxed != nullptr) values_[i] = *boxed;
      delete boxed;
    }
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  ~Arguments() {
    for (int i = 0; i < count_; ++i) {
      if (!present_[i]) continue;
      if (Kind(i) == TENON_TENSOR) aoti_torch_delete_tensor_object(Handle(i));
      if (Kind(i) == TENON_STRING) torch_delete_string(reinterpret_cast<StringHandle>(values_[i]));
      if (Kind(i) == TENON_INT_LIST) {
        torch_delete_list(reinterpret_cast<StableListHandle>(values_[i]));
      }
    }
  }

  void Describe() {
    for (int i = 0; i < count_; ++i) {
      if (i < form_.num_parameters)
        DescribeArgument(i);
      else
        DescribeTensor(Handle(i), "out", results_[i - form_.num_parameters]);
    }
  }

  const TenonArgument* arguments() const { return arguments_.data(); }
  const TenonTensor* results() const { return results_.data(); }
  const TenonTensor* first_tensor() const { return first_tensor_; }

 private:
  int32_t Kind(int i) const {
    return i < form_.num_parameters ? form_.parameters[i].kind : int32_t{TENON_TENSOR};
  }
  AtenTensorHandle Handle(int i) const { return reinterpret_cast<AtenTensorHandle>(values_[i]); }

  void DescribeArgument(int i) {
    TenonArgument& argument = arguments_[i];
    argument.kind = present_[i] ? Kind(i) : int32_t{TENON_NONE};
    switch (argument.kind) {
      case TENON_TENSOR:
        argument.value.tensor = &tensors_[i];
        DescribeTensor(Handle(i), form_.parameters[i].name, tensors_[i]);
        if (first_tensor_ == nullptr) first_tensor_ = &tensors_[i];
        break;
      case TENON_BOOL:
        argument.value.integer = (values_[i] & 1) != 0;
        break;
      case TENON_INT:
        argument.value.integer = static_cast<int64_t>(values_[i]);
        break;
      case TENON_FLOAT:
        argument.value.real = std::bit_cast<double>(values_[i]);
        break;
      case TENON_STRING:
        if (torch_string_c_str(reinterpret_cast<StringHandle>(values_[i]),
                               &argument.value.string) != AOTI_TORCH_SUCCESS) {
          TorchFailed(form_, "read a string");
        }
        break;
      case TENON_DTYPE: {
        const ElementType* type = FindType(static_cast<int32_t>(values_[i]));
        if (type == nullptr) Refuse(form_, form_.parameters[i].name, "is not a dtype of Tenon's");
        argument.value.string = type->name;
        break;
      }
      case TENON_INT_LIST:
        DescribeList(reinterpret_cast<StableListHandle>(values_[i]), argument);
        break;
      default:
        break;
    }
  }

  void DescribeList(StableListHandle list, TenonArgument& argument) {
    size_t size = 0;
    if (torch_list_size(list, &size) != AOTI_TORCH_SUCCESS) TorchFailed(form_, "read a list");
    if (size > integers_.size() - num_integers_) {
      throw std::runtime_error(form_.name + ": lists with that many numbers are not supported");
    }
    argument.length = static_cast<int32_t>(size);
    argument.value.list = integers_.data() + num_integers_;
    for (size_t i = 0; i < size; ++i) {
      StableIValue item = 0;
      if (torch_list_get_item(list, i, &item) != AOTI_TORCH_SUCCESS) {
        TorchFailed(form_, "read a list");
      }
      integers_[num_integers_++] = static_cast<int64_t>(item);
    }
  }

  void DescribeDevice(AtenTensorHandle handle, const char* name, TenonTensor& tensor) const {
    int32_t type = 0;
    int32_t failed = aoti_torch_get_device_type(handle, &type);
    failed |= aoti_torch_get_device_index(handle, &tensor.device_index);
    if (failed != AOTI_TORCH_SUCCESS) TorchFailed(form_, "describe a tensor");
    if (type == aoti_torch_device_type_cpu()) {
      tensor.device_type = 1;
      tensor.device_index = 0;
    } else if (type == aoti_torch_device_type_cuda()) {
      tensor.device_type = 2;
    } else {
      Refuse(form_, name, "must be on the CPU or a CUDA device");
    }
  }

  void DescribeTensor(AtenTensorHandle handle, const char* name, TenonTensor& tensor) {
    int64_t rank = 0;
    int32_t dtype = 0;
    int64_t* sizes = nullptr;
    int64_t* strides = nullptr;
    int32_t failed = aoti_torch_get_data_ptr(handle, &tensor.data);
    failed |= aoti_torch_get_dim(handle, &rank);
    failed |= aoti_torch_get_sizes(handle, &sizes);
    failed |= aoti_torch_get_strides(handle, &strides);
    failed |= aoti_torch_get_dtype(handle, &dtype);
    if (failed != AOTI_TORCH_SUCCESS) TorchFailed(form_, "describe a tensor");
    if (on_cpu_) {
      tensor.device_type = 1;
      tensor.device_index = 0;
    } else {
      DescribeDevice(handle, name, tensor);
    }
    const ElementType* type = FindType(dtype);
    if (type == nullptr) Refuse(form_, name, "has an element type that Tenon does not know");
    tensor.rank = static_cast<int32_t>(rank);
    tensor.dtype_code = type->code;
    tensor.dtype_bits = type->bits;
    tensor.dtype_lanes = 1;
    tensor.sizes = sizes;
    tensor.strides = strides;
    tensor.byte_offset = 0;
  }

  const Form& form_;
  const bool on_cpu_;
  const int count_;
  std::array<StableIValue, kMaxArguments> values_;
  std::array<bool, kMaxArguments> present_;
  std::array<TenonArgument, kMaxArguments> arguments_;
  std::array<TenonTensor, kMaxArguments> tensors_;
  std::array<TenonTensor, kMaxResults> results_;
  std::array<int64_t, kMaxNumbers> integers_;
  size_t num_integers_ = 0;
  const TenonTensor* first_tensor_ = nullptr;
};

// Fresh tensors on the device of the first argument, deleted unless handed over.
class Results {
 public:
  explicit Results(const TenonTensor* like)
      : device_type_(like != nullptr && like->device_type == 2 ? aoti_torch_device_type_cuda()
                                                               : aoti_torch_device_type_cpu()),
        device_index_(like != nullptr ? like->device_index : 0) {}
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;
  ~Results() {
    for (size_t i = 0; i < count_; ++i) aoti_torch_delete_tensor_object(handles_[i]);
  }

  static int Allocate(void* context, int64_t, const TenonSpec* spec, TenonTensor* result) {
    return static_cast<Results*>(context)->Add(*spec, *result);
  }

  void HandOver(StableIValue* stack) {
    for (size_t i = 0; i < count_; ++i) stack[i] = reinterpret_cast<StableIValue>(handles_[i]);
    count_ = 0;
  }

  StableIValue HandOverList(const Form& form) {
    StableListHandle list = NewList(form, count_);
    for (size_t i = 0; i < count_; ++i) {
      Push(form, list, reinterpret_cast<StableIValue>(handles_[i]));
    }
    count_ = 0;
    return reinterpret_cast<StableIValue>(list);
  }

  // The bits of the first number of the only tensor.
  StableIValue Number() const { return static_cast<StableIValue>(*numbers_); }

  StableIValue NumberList(const Form& form) const {
    StableListHandle list = NewList(form, static_cast<size_t>(num_numbers_));
    for (int64_t i = 0; i < num_numbers_; ++i) {
      Push(form, list, static_cast<StableIValue>(numbers_[i]));
    }
    return reinterpret_cast<StableIValue>(list);
  }

 private:
  static StableListHandle NewList(const Form& form, size_t size) {
    StableListHandle list = nullptr;
    if (torch_new_list_reserve_size(size, &list) != AOTI_TORCH_SUCCESS) {
      TorchFailed(form, "make a list");
    }
    return list;
  }

  static void Push(const Form& form, StableListHandle list, StableIValue item) {
    if (torch_list_push_back(list, item) != AOTI_TORCH_SUCCESS) TorchFailed(form, "fill a list");
  }

  int Add(const TenonSpec& spec, TenonTensor& result) {
    AtenTensorHandle handle = nullptr;
    if (aoti_torch_empty_strided(spec.rank, spec.sizes, spec.strides, NumberOf(spec), device_type_,
                                 device_index_, &handle) != AOTI_TORCH_SUCCESS) {
      return AOTI_TORCH_FAILURE;
    }
    handles_.at(count_++) = handle;
    const AOTITorchError status = aoti_torch_get_data_ptr(handle, &result.data);
    numbers_ = static_cast<const int64_t*>(result.data);
    num_numbers_ = spec.rank == 1 ? spec.sizes[0] : 0;
    return status;
  }

  int32_t device_type_;
  int32_t device_index_;
  std::array<AtenTensorHandle, kMaxNumbers> handles_;  // a list has one for each number
  size_t count_ = 0;
  const int64_t* numbers_ = nullptr;
  int64_t num_numbers_ = 0;
};

void HandOver(const Form& form, Results& results, StableIValue* stack) {
  switch (form.result_kind) {
    case TENON_TENSOR_LIST:
      stack[0] = results.HandOverList(form);
      break;
    case TENON_FLOAT:
      stack[0] = results.Number();
      break;
    case TENON_INT_LIST:
      stack[0] = results.NumberList(form);
      break;
    default:
      results.HandOver(stack);
  }
}

}  // namespace

bool Form::takes_tensors() const {
  for (int i = 0; i < num_parameters; ++i) {
    if (parameters[i].kind == TENON_TENSOR) return true;
  }
  return out;
}

void Call(const Form& form, bool on_cpu, StableIValue* stack) {
  Arguments arguments(form, on_cpu, stack);
  arguments.Describe();
  int status = 0;
  if (form.out) {
    status = tenon_call(form.op, arguments.arguments(), form.num_parameters, arguments.results(),
                        form.num_results);
  } else {
    Results results(arguments.first_tensor());
    status = tenon_call_into(form.op, arguments.arguments(), form.num_parameters, Results::Allocate,
                             &results);
    if (status == 0) HandOver(form, results, stack);
  }
  if (status == AOTI_TORCH_FAILURE) TorchFailed(form, "allocate a result");
  if (status != 0) throw std::runtime_error(tenon_last_error());
}

}  // namespace tenon::torch
