#include <limits>

#include "base/dtype.h"
#include "ops/resolve.h"

namespace tenon::ops::embedding {
namespace {

constexpr int64_t kPrefix = 0;
constexpr int64_t kCausal = 1;

double LowestOf(DType dtype) {
  if (dtype == DType::kF32) return std::numeric_limits<float>::lowest();
  return dtype == DType::kF16 ? -65504.0 : -0x1.FEp127;
}

void Compute(const Resolved& call, std::span<const Tensor> outputs) {
  const Tensor& types = call.inputs[0].tensor;
  const BoundInput& given = call.inputs[1];
  const Tensor& mask = outputs[0];
  const double lowest = LowestOf(mask.dtype);
  const auto type_at = [&](int64_t batch, int64_t at) {
    return static_cast<int64_t>(
        LoadElement(types.data, types.dtype, batch * types.strides[0] + at * types.strides[1]));
  };
  const auto kept = [&](int64_t batch, int64_t at) {
    if (!given.present) return true;
    const Tensor& t = given.tensor;
    return LoadElement(t.data, t.dtype, batch * t.strides[0] + at * t.strides[1]) != 0;
  };
  const int64_t length = types.sizes[1];
  for (int64_t batch = 0; batch < types.sizes[0]; ++batch) {
    for (int64_t q = 0; q < length; ++q) {
      const int64_t q_type = type_at(batch, q);
      for (int64_t k = 0; k < length; ++k) {
        const int64_t k_type = type_at(batch, k);
        const bool sees = (k_type == kPrefix && (q_type == kPrefix || q_type == kCausal)) ||
                          (k_type == kCausal && q_type == kCausal && k <= q);
        const int64_t at = batch * mask.strides[0] + q * mask.strides[2] + k * mask.strides[3];
        StoreElement(mask.data, mask.dtype, at, sees && kept(batch, k) ? 0.0 : lowest);
      }
    }
  }
}

}  // namespace

Contract prefix_causal_mask() {
  Contract c("embedding", "prefix_causal_mask");
  c.Doc(
      "additive mask: 0 where query q may see key k, else the lowest number; tokens of type 0 see "
      "all of type 0, those of type 1 also type 1 up to themselves; a key with attention_mask 0 is "
      "seen by none");
  c.In("token_type_ids", ir::Elem::Index(), "batch, length");
  c.OptionalIn("attention_mask", ir::Elem::Index(), "batch, length", 1).NoneByDefault().AnyDType();
  c.KeywordOnly();
  c.ScalarType("dtype", {"f32", "f16", "bf16"});
  c.Out("mask", DType::kF32, "batch, 1, length, length").DTypeFrom("dtype");
  c.Function(Compute);
  return c;
}

}  // namespace tenon::ops::embedding
