#include "ops/activation/activation.h"

#include <numbers>

#include "base/error.h"

namespace tenon::ops::activation {

ir::Value Silu(ir::Value x) { return x * Sigmoid(x); }

ir::Value Gelu(ir::Value x) { return 0.5 * x * (1.0 + Erf(x * (1.0 / std::numbers::sqrt2))); }

ir::Value GeluTanh(ir::Value x) {
  const double scale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // sqrt(2/pi)
  return 0.5 * x * (1.0 + Tanh(scale * (x + 0.044715 * (x * x * x))));
}

ir::Value GeluQuick(ir::Value x) { return x * Sigmoid(1.702 * x); }

ir::Value Act(std::string_view act, ir::Value x) {
  if (act == "silu") return Silu(x);
  if (act == "gelu") return Gelu(x);
  if (act == "gelu_tanh") return GeluTanh(x);
  if (act == "gelu_quick") return GeluQuick(x);
  const ir::Value positive = Max(x, 0.0);
  if (act == "relu") return positive;
  TENON_ASSERT(act == "relu2", "there is no activation {}", act);
  return positive * positive;
}

ir::Value ActAndMul(std::string_view act, ir::Value gate, ir::Value up) {
  if (act != "relu2") return Act(act, gate) * up;
  // The square of a large gate overflows; times an `up` of 0 it would be NaN.
  const ir::Value positive = Max(gate, 0.0);
  return positive * (positive * up);
}

ir::Value SwigluOai(Gated x, ir::Value alpha, ir::Value limit) {
  const ir::Value g = Min(x.gate, limit);
  const ir::Value u = Clamp(x.up, -limit, limit);
  return Round((u + 1.0) * (g * Sigmoid(alpha * g)), ir::Elem::Storage());
}

void DeclareGated(Contract& c) {
  c.In("x", ir::Elem::Storage(), "..., width=2*d");
  c.Out("y", ir::Elem::Storage(), "..., d");
}

Gated SplitHalves(ir::Value x, const ir::Axis& half) {
  return {Slice(x, "width", 0, half), Slice(x, "width", half.size, half)};
}

Gated SplitInterleaved(ir::Value x) {
  const ir::Value pairs = SplitAxis(x, "width", {ir::NamedAxis("d"), {"pair", 2}});
  return {Pick(pairs, "pair", 0), Pick(pairs, "pair", 1)};
}

ir::Value SiluAndMul(ir::Value x, const ir::Axis& half) {
  const auto [gate, up] = SplitHalves(x, half);
  return Round(Silu(gate) * up, ir::Elem::Storage());
}

}  // namespace tenon::ops::activation
