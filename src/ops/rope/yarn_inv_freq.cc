#include <algorithm>
#include <cmath>
#include <numbers>

#include "ops/rope/tables.h"

namespace tenon::ops::rope {
namespace {

// The pair that turns `rotations` times over the original context.
double PairOf(const Resolved& call, double rotations) {
  const auto dim = static_cast<double>(IntOf(call, "rotary_dim"));
  const auto context = static_cast<double>(IntOf(call, "original_max_position"));
  return dim * std::log(context / (rotations * 2 * std::numbers::pi)) /
         (2 * std::log(NumberOf(call, "base")));
}

void Compute(const Resolved& call, std::span<const Tensor> outputs) {
  double low = PairOf(call, NumberOf(call, "beta_fast"));
  double high = PairOf(call, NumberOf(call, "beta_slow"));
  if (std::get<bool>(call.attributes.at("truncate"))) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(IntOf(call, "rotary_dim") - 1));
  if (low == high) high += 0.001;
  float* const inv_freq = outputs[0].ptr<float>();
  for (int64_t i = 0; i < outputs[0].sizes[0]; ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    const double kept = (1 - ramp) * NumberOf(call, "extrapolation_factor");
    const double period = Period(call, i);
    inv_freq[i * outputs[0].strides[0]] = static_cast<float>(
        (1 - kept) / (NumberOf(call, "scaling_factor") * period) + kept / period);
  }
}

}  // namespace

Contract yarn_inv_freq() {
  Contract c("rope", "yarn_inv_freq");
  c.Doc(
      "inv_freq of rope_inv_freq for fast pairs, divided by scaling_factor for slow ones, mixed "
      "between those that turn beta_fast and beta_slow times over original_max_position");
  DeclareRotaryDim(c);
  DeclareBase(c);
  c.Float("scaling_factor").Positive();
  c.Int("original_max_position").Positive();
  c.Float("beta_fast", 32.0).Positive();
  c.Float("beta_slow", 1.0).Positive();
  c.Bool("truncate", true);
  c.Float("extrapolation_factor", 1.0);
  DeclareInvFreq(c);
  c.Function(Compute);
  return c;
}

}  // namespace tenon::ops::rope
