// Element types and the tensor view that every operator takes.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "tenon/error.h"

namespace tenon {

enum class DType : uint8_t { kF32, kF16, kBF16, kF8E4M3, kI8, kI32, kI64, kBool };

// Storage-only types: arithmetic is float32 everywhere (backend/cpu converts).
struct F16 {
  uint16_t bits;
};
struct BF16 {
  uint16_t bits;
};
struct F8E4M3 {  // finite only: largest 448, no infinity, NaN is 0x7F and 0xFF
  uint8_t bits;
};

enum class Device : uint8_t { kCpu, kCuda };

inline constexpr int kMaxRank = 8;

// A view: does not own its memory. Sizes and strides count elements; strides may be 0 (expanded,
// inputs only) or leave gaps; `data` may be unaligned to the vector size but never to the element.
struct Tensor {
  void* data = nullptr;
  DType dtype = DType::kF32;
  Device device = Device::kCpu;
  int32_t device_index = 0;
  int32_t rank = 0;
  std::array<int64_t, kMaxRank> sizes{};
  std::array<int64_t, kMaxRank> strides{};

  int64_t size(int axis) const { return sizes[axis < 0 ? axis + rank : axis]; }
  int64_t stride(int axis) const { return strides[axis < 0 ? axis + rank : axis]; }
  std::span<const int64_t> shape() const { return {sizes.data(), static_cast<size_t>(rank)}; }
  int64_t numel() const {
    int64_t n = 1;
    for (int i = 0; i < rank; ++i) n *= sizes[i];
    return n;
  }
  template <typename T>
  T* ptr() const {
    return static_cast<T*>(data);
  }
};

// A row-major view over `data`.
TENON_API Tensor MakeTensor(void* data, DType dtype, std::span<const int64_t> shape);

}  // namespace tenon
