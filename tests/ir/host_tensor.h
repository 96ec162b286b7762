// Tensors that own their memory, for tests of the interpreter.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "ir/interpreter.h"

namespace tenon::ir {

// Dense, filled from doubles by rounding.
class HostTensor {
 public:
  HostTensor(DType dtype, const std::vector<int64_t>& shape, const std::vector<double>& values = {})
      : bytes_(static_cast<size_t>(NumElements(shape) * ItemSize(dtype))),
        tensor_(MakeTensor(bytes_.data(), dtype, shape)) {
    for (size_t i = 0; i < values.size(); ++i) {
      StoreElement(bytes_.data(), dtype, static_cast<int64_t>(i), values[i]);
    }
  }

  const Tensor& tensor() const { return tensor_; }
  double operator[](int64_t i) const { return LoadElement(bytes_.data(), tensor_.dtype, i); }
  std::vector<double> Values() const {
    std::vector<double> values;
    for (int64_t i = 0; i < tensor_.numel(); ++i) values.push_back((*this)[i]);
    return values;
  }
  template <typename T>
  T* data() {
    return reinterpret_cast<T*>(bytes_.data());
  }

 private:
  std::vector<char> bytes_;
  Tensor tensor_;
};

// A float32 vector.
inline HostTensor Vector(const std::vector<double>& values) {
  return HostTensor(DType::kF32, {static_cast<int64_t>(values.size())}, values);
}

inline RunInputs Inputs(
    std::initializer_list<std::pair<const std::string, std::optional<Tensor>>> tensors) {
  RunInputs inputs;
  inputs.tensors = tensors;
  return inputs;
}

}  // namespace tenon::ir
