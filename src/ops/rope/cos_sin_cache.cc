#include <cmath>

#include "base/dtype.h"
#include "ops/rope/tables.h"

namespace tenon::ops::rope {
namespace {

void Compute(const Resolved& call, std::span<const Tensor> outputs) {
  const Tensor& inv_freq = call.inputs[0].tensor;
  const Tensor& cache = outputs[0];
  const int64_t half = inv_freq.sizes[0];
  const auto mscale = static_cast<float>(NumberOf(call, "mscale"));
  for (int64_t position = 0; position < cache.sizes[0]; ++position) {
    for (int64_t i = 0; i < half; ++i) {
      // One float32 rounding of the angle: models were trained with it.
      const float angle =
          static_cast<float>(position) * inv_freq.ptr<float>()[i * inv_freq.strides[0]];
      const auto cosine = static_cast<float>(std::cos(static_cast<double>(angle)));
      const auto sine = static_cast<float>(std::sin(static_cast<double>(angle)));
      const int64_t at = position * cache.strides[0] + i * cache.strides[1];
      StoreElement(cache.data, cache.dtype, at, cosine * mscale);
      StoreElement(cache.data, cache.dtype, at + half * cache.strides[1], sine * mscale);
    }
  }
}

}  // namespace

Contract cos_sin_cache() {
  Contract c("rope", "cos_sin_cache");
  c.Doc("row p: cos(p*inv_freq)*mscale, then sin(p*inv_freq)*mscale");
  c.In("inv_freq", DType::kF32, "half");
  c.Int("max_position").NonNegative();
  c.Float("mscale", 1.0);
  c.KeywordOnly();
  c.ScalarType("dtype", {"f32", "f16", "bf16"});
  c.Out("cos_sin_cache", DType::kF32, "max_position, 2*half").DTypeFrom("dtype");
  c.Function(Compute);
  return c;
}

}  // namespace tenon::ops::rope
