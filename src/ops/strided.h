// Element by element over strided views: what happens off the fast path.
#pragma once

#include <cstdint>
#include <optional>

#include "base/dtype.h"
#include "tenon/tensor.h"

namespace tenon::ops {

// Row-major without gaps. Axes of size 1 do not matter, and without elements none does.
bool IsContiguous(const Tensor& view);

// [..., n] as [rows, n], or nothing where the rows have no common stride.
std::optional<Tensor> AsMatrix(const Tensor& view);

// The last `rank` axes, at index `lead` of those before them in row-major order.
inline Tensor LastAxes(const Tensor& view, int rank, int64_t lead) {
  Tensor part = view;
  int64_t offset = 0;
  for (int axis = view.rank - rank - 1; axis >= 0; --axis) {
    offset += lead % view.sizes[axis] * view.strides[axis];
    lead /= view.sizes[axis];
  }
  part.data = view.ptr<char>() + offset * ItemSize(view.dtype);
  part.rank = rank;
  for (int i = 0; i < rank; ++i) {
    part.sizes[i] = view.size(i - rank);
    part.strides[i] = view.stride(i - rank);
  }
  return part;
}

// Calls fn(offset in elements) for every element in row-major order.
template <typename Fn>
void ForEachElement(const Tensor& view, Fn&& fn) {
  int64_t index[kMaxRank] = {};
  const int64_t count = view.numel();
  int64_t offset = 0;
  for (int64_t i = 0; i < count; ++i) {
    fn(offset);
    for (int axis = view.rank - 1; axis >= 0; --axis) {
      offset += view.strides[axis];
      if (++index[axis] < view.sizes[axis]) break;
      offset -= view.sizes[axis] * view.strides[axis];
      index[axis] = 0;
    }
  }
}

// The bits of `from` to `to`: equal shapes and element types.
void CopyStrided(const Tensor& from, const Tensor& to);

// As float32 into the contiguous `to`: exact for every float and for integers up to 2^24.
void WidenStrided(const Tensor& from, const Tensor& to);

}  // namespace tenon::ops
