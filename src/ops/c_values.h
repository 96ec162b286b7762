// The C ABI's tensors and arguments as those of C++.
#pragma once

#include <vector>

#include "ops/registry.h"
#include "tenon/c.h"
#include "tenon/op.h"

namespace tenon::ops {

// UsageError with the names when the tensor cannot be one of Tenon's.
Tensor ToTensor(const TenonTensor* given, std::string_view op, std::string_view name);

TenonSpec ToSpec(const TensorSpec& spec);

TenonKind KindOf(const Param& param);

// The arguments of one call. Their memory is kept for the thread's next call.
class ArgumentList {
 public:
  ArgumentList(const OperatorForm& form, const TenonArgument* given, int64_t count);
  ~ArgumentList();
  ArgumentList(const ArgumentList&) = delete;
  ArgumentList& operator=(const ArgumentList&) = delete;
  std::span<const Argument> arguments() const { return list_; }

 private:
  std::vector<Argument> list_;
};

}  // namespace tenon::ops
