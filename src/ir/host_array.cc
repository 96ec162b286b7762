#include "ir/host_array.h"

#include <bit>
#include <cmath>

#include "base/error.h"
#include "base/text.h"

namespace tenon::ir {
namespace {

// A NaN that was read from storage: quiet, a mark, the dtype in 3 bits, the storage bits in the low
// 32. Arithmetic on x86 and ARM passes it on, which is as good a NaN as any other.
constexpr uint64_t kNanMark = 0x7FF8'0000'0000'0000 | uint64_t{0x2A5A} << 35;
constexpr uint64_t kNanMarkMask = 0x7FFF'FFF8'0000'0000;

double MarkedNan(DType dtype, uint32_t bits) {
  return std::bit_cast<double>(kNanMark | uint64_t{static_cast<uint8_t>(dtype)} << 32 | bits);
}

struct StorageNan {
  DType dtype;
  uint32_t bits;
};

// Only for NaNs; false when the NaN was computed.
bool IsMarked(double nan, StorageNan* storage) {
  const uint64_t bits = std::bit_cast<uint64_t>(nan);
  if ((bits & kNanMarkMask) != kNanMark) return false;
  *storage = {static_cast<DType>(bits >> 32 & 7), static_cast<uint32_t>(bits)};
  return true;
}

template <typename T>
Word Widen(T stored, DType dtype) {
  Word word;
  if constexpr (std::is_integral_v<T>) {
    word.i = stored;
  } else {
    if constexpr (std::is_same_v<T, float>) {
      word.f = stored;
    } else {
      word.f = ToFloat(stored);
    }
    if (std::isnan(word.f)) {
      uint32_t bits = 0;
      std::memcpy(&bits, &stored, sizeof(T));
      word.f = MarkedNan(dtype, bits);
    }
  }
  return word;
}

void StoreWord(Word word, bool is_float, void* data, DType dtype, int64_t index) {
  if (!is_float && !IsFloat(dtype)) {  // int64 beyond 2^53 stays exact
    VisitDtype(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (std::is_integral_v<T>) {
        const auto stored = static_cast<T>(word.i);
        std::memcpy(static_cast<char*>(data) + index * int64_t{sizeof(T)}, &stored, sizeof(T));
      }
    });
    return;
  }
  StorageNan storage;
  if (is_float && std::isnan(word.f) && IsMarked(word.f, &storage) && storage.dtype == dtype) {
    const auto size = static_cast<size_t>(ItemSize(dtype));
    std::memcpy(static_cast<char*>(data) + index * ItemSize(dtype), &storage.bits, size);
    return;
  }
  StoreElement(data, dtype, index, is_float ? word.f : static_cast<double>(word.i));
}

// Calls row(dense offset, offset in the tensor) for every run of elements along the last axis.
template <typename Fn>
void ForEachRun(const Tensor& tensor, Fn&& row) {
  if (tensor.numel() == 0) return;
  const int64_t length = tensor.rank == 0 ? 1 : tensor.size(-1);
  std::array<int64_t, kMaxRank> position{};
  int64_t offset = 0;
  for (int64_t dense = 0; dense < tensor.numel(); dense += length) {
    row(dense, offset);
    for (int axis = tensor.rank - 2; axis >= 0; --axis) {
      offset += tensor.strides[axis];
      if (++position[axis] < tensor.sizes[axis]) break;
      offset -= tensor.sizes[axis] * tensor.strides[axis];
      position[axis] = 0;
    }
  }
}

void CheckHost(const Tensor& tensor) {
  TENON_CHECK(tensor.device == Device::kCpu, "the reference takes CPU tensors only");
}

}  // namespace

int64_t NumElements(const std::vector<int64_t>& shape) {
  int64_t n = 1;
  for (int64_t size : shape) n *= size;
  return n;
}

std::vector<int64_t> DenseStrides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

HostArray::HostArray(DType element, std::vector<int64_t> sizes)
    : dtype(element),
      shape(std::move(sizes)),
      words(static_cast<size_t>(NumElements(shape)), Word{.i = 0}) {}

std::vector<double> HostArray::Values() const {
  std::vector<double> values(words.size());
  for (size_t i = 0; i < words.size(); ++i) values[i] = Value(static_cast<int64_t>(i));
  return values;
}

HostArray LoadTensor(const Tensor& tensor) {
  CheckHost(tensor);
  const auto shape = tensor.shape();
  HostArray array(tensor.dtype, {shape.begin(), shape.end()});
  const int64_t length = tensor.rank == 0 ? 1 : tensor.size(-1);
  const int64_t stride = tensor.rank == 0 ? 1 : tensor.stride(-1);
  VisitDtype(tensor.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    ForEachRun(tensor, [&](int64_t dense, int64_t offset) {
      const char* from = static_cast<const char*>(tensor.data) + offset * int64_t{sizeof(T)};
      Word* to = array.words.data() + dense;
      for (int64_t i = 0; i < length; ++i) {
        T stored;
        std::memcpy(&stored, from + i * stride * int64_t{sizeof(T)}, sizeof(T));
        to[i] = Widen(stored, tensor.dtype);
      }
    });
  });
  return array;
}

void StoreTensor(const HostArray& array, const Tensor& tensor) {
  CheckHost(tensor);
  const auto shape = tensor.shape();
  TENON_CHECK(std::equal(shape.begin(), shape.end(), array.shape.begin(), array.shape.end()),
              "cannot store {} values in a tensor of {}", ShapeText(array.shape), ShapeText(shape));
  const int64_t length = tensor.rank == 0 ? 1 : tensor.size(-1);
  const int64_t stride = tensor.rank == 0 ? 1 : tensor.stride(-1);
  const std::vector<int64_t> dense_strides = DenseStrides(array.shape);
  const auto specified = [&](int64_t index) {
    if (array.limit_axis < 0) return true;
    const auto axis = static_cast<size_t>(array.limit_axis);
    return index / dense_strides[axis] % array.shape[axis] < array.limit;
  };
  ForEachRun(tensor, [&](int64_t dense, int64_t offset) {
    for (int64_t i = 0; i < length; ++i) {
      if (!specified(dense + i)) continue;
      StoreWord(array.words[static_cast<size_t>(dense + i)], array.is_float(), tensor.data,
                tensor.dtype, offset + i * stride);
    }
  });
}

int32_t SingleBits(double value) {
  StorageNan storage;
  if (std::isnan(value) && IsMarked(value, &storage)) {
    if (storage.dtype == DType::kF32) return static_cast<int32_t>(storage.bits);
    if (storage.dtype == DType::kBF16) return static_cast<int32_t>(storage.bits << 16);
  }
  return std::bit_cast<int32_t>(static_cast<float>(value));
}

double FromSingleBits(int32_t bits) { return Widen(std::bit_cast<float>(bits), DType::kF32).f; }

}  // namespace tenon::ir
