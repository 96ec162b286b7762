#include "ops/rope/tables.h"

namespace tenon::ops::rope {
namespace {

void Compute(const Resolved& call, std::span<const Tensor> outputs) {
  float* const inv_freq = outputs[0].ptr<float>();
  for (int64_t i = 0; i < outputs[0].sizes[0]; ++i) {
    inv_freq[i * outputs[0].strides[0]] = static_cast<float>(1.0 / Period(call, i));
  }
}

}  // namespace

Contract rope_inv_freq() {
  Contract c("rope", "rope_inv_freq");
  c.Doc("inv_freq[i] = base^(-2i/rotary_dim)");
  DeclareRotaryDim(c);
  DeclareBase(c);
  DeclareInvFreq(c);
  c.Function(Compute);
  return c;
}

}  // namespace tenon::ops::rope
