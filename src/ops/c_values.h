// The C ABI's tensors and arguments as those of C++.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ops/registry.h"
#include "tenon/c.h"
#include "tenon/op.h"

namespace tenon::ops {

std::optional<DType> FindDType(const TenonTensor& tensor);

// Where the tensor's elements begin.
inline void* DataOf(const TenonTensor& tensor) {
  return tensor.data == nullptr ? nullptr : static_cast<char*>(tensor.data) + tensor.byte_offset;
}

// UsageError with the names when the tensor cannot be one of Tenon's. Sizes and strides behind the
// rank are left as they are.
void SetTensor(Tensor& tensor, const TenonTensor* given, std::string_view op,
               std::string_view name);

std::vector<Argument> ToArguments(const OperatorForm& form, const TenonArgument* given,
                                  int64_t count);

TenonSpec ToSpec(const TensorSpec& spec);

TenonKind KindOf(const Param& param);

}  // namespace tenon::ops
