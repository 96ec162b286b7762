#include "ops/dense.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "base/dtype.h"

namespace tenon {

Buffer::Buffer(const TensorSpec& spec) {
  constexpr size_t kCacheLine = 64;
  int64_t count = 1;
  for (size_t i = 0; i < spec.shape.size(); ++i) {
    count *= spec.shape[i];
    if (!spec.strides.empty()) count = std::max(count, spec.shape[i] * spec.strides[i]);
  }
  const size_t bytes = static_cast<size_t>(count * ItemSize(spec.dtype));
  void* memory = std::aligned_alloc(kCacheLine, (bytes / kCacheLine + 1) * kCacheLine);
  if (memory == nullptr) throw std::bad_alloc();
  memory_ = std::shared_ptr<void>(memory, std::free);
  tensor_ = MakeTensor(memory, spec.dtype, spec.shape);
  std::copy(spec.strides.begin(), spec.strides.end(), tensor_.strides.begin());
}

namespace ops {

Buffer DenseCopy(const Tensor& view, DType dtype) {
  Buffer buffer({dtype, {view.shape().begin(), view.shape().end()}});
  if (view.dtype == dtype) {
    CopyStrided(view, buffer.tensor());
  } else if (dtype == DType::kF32) {
    WidenStrided(view, buffer.tensor());
  } else {
    int64_t next = 0;
    ForEachElement(view, [&](int64_t offset) {
      StoreElement(buffer.tensor().data, dtype, next++, LoadElement(view.data, view.dtype, offset));
    });
  }
  return buffer;
}

}  // namespace ops
}  // namespace tenon
