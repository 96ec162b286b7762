#include <numbers>

#include "ops/rope/tables.h"

namespace tenon::ops::rope {
namespace {

void Compute(const Resolved& call, std::span<const Tensor> outputs) {
  const double factor = NumberOf(call, "scaling_factor");
  const double low_factor = NumberOf(call, "low_freq_factor");
  const double high_factor = NumberOf(call, "high_freq_factor");
  const auto context = static_cast<double>(IntOf(call, "original_max_position"));
  float* const inv_freq = outputs[0].ptr<float>();
  for (int64_t i = 0; i < outputs[0].sizes[0]; ++i) {
    const double plain = 1.0 / Period(call, i);
    const double wavelength = 2 * std::numbers::pi / plain;
    double value = plain;
    if (wavelength > context / low_factor) {
      value = plain / factor;
    } else if (wavelength >= context / high_factor) {
      const double share = low_factor == high_factor
                               ? 0.0
                               : (context / wavelength - low_factor) / (high_factor - low_factor);
      value = (1 - share) * plain / factor + share * plain;
    }
    inv_freq[i * outputs[0].strides[0]] = static_cast<float>(value);
  }
}

}  // namespace

Contract llama3_inv_freq() {
  Contract c("rope", "llama3_inv_freq");
  c.Doc(
      "inv_freq of rope_inv_freq for wavelengths below original_max_position/high_freq_factor, "
      "divided by scaling_factor above original_max_position/low_freq_factor, mixed between them");
  DeclareRotaryDim(c);
  DeclareBase(c);
  c.Float("scaling_factor").Positive();
  c.Float("low_freq_factor").Positive();
  c.Float("high_freq_factor").Positive();
  c.Int("original_max_position").Positive();
  DeclareInvFreq(c);
  c.Function(Compute);
  return c;
}

}  // namespace tenon::ops::rope
