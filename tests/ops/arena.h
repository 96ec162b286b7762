// Memory for the tensors of one test.
#pragma once

#include <deque>
#include <vector>

#include "base/dtype.h"
#include "tenon/tensor.h"

namespace tenon {

class Arena {
 public:
  Tensor Make(DType dtype, std::vector<int64_t> shape) {
    int64_t count = 1;
    for (int64_t size : shape) count *= size;
    auto& words = memory_.emplace_back(static_cast<size_t>(count * ItemSize(dtype) / 8 + 1));
    return MakeTensor(words.data(), dtype, shape);
  }

  Tensor Make(DType dtype, std::vector<int64_t> shape, const std::vector<double>& values) {
    const Tensor t = Make(dtype, std::move(shape));
    for (size_t i = 0; i < values.size(); ++i) {
      StoreElement(t.data, dtype, static_cast<int64_t>(i), values[i]);
    }
    return t;
  }

 private:
  std::deque<std::vector<int64_t>> memory_;
};

// Elements [begin, end) of an axis.
inline Tensor SliceOf(Tensor t, int axis, int64_t begin, int64_t end) {
  if (axis < 0) axis += t.rank;
  t.data = t.ptr<char>() + begin * t.strides[axis] * ItemSize(t.dtype);
  t.sizes[axis] = end - begin;
  return t;
}

// The values of a contiguous tensor.
inline std::vector<double> ValuesOf(const Tensor& t) {
  std::vector<double> values;
  for (int64_t i = 0; i < t.numel(); ++i) values.push_back(LoadElement(t.data, t.dtype, i));
  return values;
}

}  // namespace tenon
