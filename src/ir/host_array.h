// Arrays of the interpreter: floats as float64, integers and bool as int64, both in 8-byte words,
// so that moving elements is one piece of code and never changes them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/dtype.h"

namespace tenon::ir {

union Word {
  double f;   // of float dtypes
  int64_t i;  // of integers and bool
};

// Row-major and dense. A float array holds values that need not be representable in `dtype` (f32
// arithmetic is done in float64); they are rounded when stored to a tensor. A NaN read from a
// tensor remembers its storage bits, so that a value that is only moved is stored with them.
struct HostArray {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::vector<Word> words;
  // Rows of axis `limit_axis` at or beyond `limit` are unspecified (limit_rows); -1: none are.
  int limit_axis = -1;
  int64_t limit = 0;

  HostArray() = default;
  HostArray(DType element, std::vector<int64_t> sizes);  // zeros

  bool is_float() const { return IsFloat(dtype); }
  int64_t numel() const { return static_cast<int64_t>(words.size()); }
  double Value(int64_t i) const {  // integers beyond 2^53 lose their low bits here
    const Word word = words[static_cast<size_t>(i)];
    return is_float() ? word.f : static_cast<double>(word.i);
  }
  std::vector<double> Values() const;
};

// The number of elements of a shape.
int64_t NumElements(const std::vector<int64_t>& shape);
// Strides of a dense row-major array.
std::vector<int64_t> DenseStrides(const std::vector<int64_t>& shape);

// Reads a CPU tensor of any strides.
HostArray LoadTensor(const Tensor& tensor);

// Rounds to the tensor's dtype and writes every element that is specified. The shapes must be
// equal.
void StoreTensor(const HostArray& array, const Tensor& tensor);

// Bits of the float32 nearest to a word of a float array; of a NaN that was read from a tensor, its
// own.
int32_t SingleBits(double value);
// The value of a float32 given by its bits.
double FromSingleBits(int32_t bits);

}  // namespace tenon::ir
