#include "ops/strided.h"

#include <cstring>

#include "backend/cpu/widen.h"
#include "base/dtype.h"
#include "base/error.h"

namespace tenon::ops {

bool IsContiguous(const Tensor& view) {
  if (view.numel() == 0) return true;
  int64_t stride = 1;
  for (int axis = view.rank - 1; axis >= 0; --axis) {
    if (view.sizes[axis] != 1 && view.strides[axis] != stride) return false;
    stride *= view.sizes[axis];
  }
  return true;
}

std::optional<Tensor> AsMatrix(const Tensor& view) {
  Tensor matrix = view;
  matrix.rank = 2;
  matrix.sizes[0] = 1;
  matrix.strides[0] = 0;
  for (int axis = view.rank - 2; axis >= 0; --axis) {
    const int64_t size = view.sizes[axis];
    if (size == 1) continue;
    if (matrix.sizes[0] == 1) {
      matrix.strides[0] = view.strides[axis];
    } else if (view.strides[axis] != matrix.sizes[0] * matrix.strides[0]) {
      return std::nullopt;
    }
    matrix.sizes[0] *= size;
  }
  matrix.sizes[1] = view.size(-1);
  matrix.strides[1] = view.stride(-1);
  return matrix;
}

namespace {

template <int64_t size>
void CopyWords(const Tensor& from, const Tensor& to) {
  // Both walks are in row-major order, so the n-th offsets belong together.
  Tensor flat = to;
  int64_t index[kMaxRank] = {};
  int64_t target = 0;
  ForEachElement(from, [&](int64_t source) {
    std::memcpy(static_cast<char*>(flat.data) + target * size,
                static_cast<const char*>(from.data) + source * size, size);
    for (int axis = flat.rank - 1; axis >= 0; --axis) {
      target += flat.strides[axis];
      if (++index[axis] < flat.sizes[axis]) break;
      target -= flat.sizes[axis] * flat.strides[axis];
      index[axis] = 0;
    }
  });
}

}  // namespace

void CopyStrided(const Tensor& from, const Tensor& to) {
  TENON_ASSERT(from.dtype == to.dtype && from.numel() == to.numel(), "copy between unlike tensors");
  switch (ItemSize(from.dtype)) {
    case 1:
      return CopyWords<1>(from, to);
    case 2:
      return CopyWords<2>(from, to);
    case 4:
      return CopyWords<4>(from, to);
    default:
      return CopyWords<8>(from, to);
  }
}

void WidenStrided(const Tensor& from, const Tensor& to) {
  TENON_ASSERT(to.dtype == DType::kF32 && IsContiguous(to), "widening goes to contiguous float32");
  const bool in_vectors = IsFloat(from.dtype) || from.dtype == DType::kI8;
  if (in_vectors && IsContiguous(from)) {
    cpu::Widen(from.data, from.dtype, from.numel(), to.ptr<float>());
    return;
  }
  float* out = to.ptr<float>();
  VisitDtype(from.dtype, [&](auto tag) {
    using E = typename decltype(tag)::type;
    const E* in = from.ptr<const E>();
    ForEachElement(from, [&](int64_t offset) {
      if constexpr (std::is_class_v<E>) {
        *out++ = ToFloat(in[offset]);
      } else {
        *out++ = static_cast<float>(in[offset]);
      }
    });
  });
}

}  // namespace tenon::ops
