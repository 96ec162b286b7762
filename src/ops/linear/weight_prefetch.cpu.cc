// Computes  nothing: asks for the cache lines of a weight
// Traffic   what is asked for, at most half of the last cache
// Mapping   one thread; the requests do not wait
// Numerics  none
// Limits    none
#include <algorithm>

#include "backend/cpu/bandwidth.h"
#include "base/dtype.h"
#include "ops/resolve.h"
#include "ops/structural.h"

namespace tenon::ops::linear {

void RunWeightPrefetch(const Resolved& call, std::span<const Tensor>) {
  constexpr int64_t kLine = 64;
  const Tensor& weight = call.inputs[1].tensor;
  const int64_t bytes = weight.numel() * ItemSize(weight.dtype);
  const int64_t begin = std::min(IntOf(call, "offset"), bytes);
  int64_t count = bytes - begin;
  if (const int64_t most = IntOf(call, "max_size"); most > 0) count = std::min(count, most);
  count = std::min(count, cpu::LastLevelCacheBytes() / 2);
  // What lies between the rows of a strided weight is not worth the arithmetic.
  const char* const at = weight.ptr<char>() + begin;
  for (int64_t i = 0; i < count; i += kLine) __builtin_prefetch(at + i, 0, 1);
}

void RunWeightPrefetchWait(const Resolved&, std::span<const Tensor>) {}

}  // namespace tenon::ops::linear
