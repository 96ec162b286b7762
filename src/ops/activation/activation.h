// The activation functions, and what the gated activations share.
#pragma once

#include <string_view>

#include "ir/builder.h"
#include "ops/contract.h"

namespace tenon::ops::activation {

ir::Value Silu(ir::Value x);       // x * sigmoid(x)
ir::Value Gelu(ir::Value x);       // x/2 * (1 + erf(x/sqrt(2)))
ir::Value GeluTanh(ir::Value x);   // x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715*x^3)))
ir::Value GeluQuick(ir::Value x);  // x * sigmoid(1.702*x)

// By name: silu, gelu, gelu_tanh, gelu_quick, relu, relu2 (max(x, 0)^2).
ir::Value Act(std::string_view act, ir::Value x);

// act(gate) * up.
ir::Value ActAndMul(std::string_view act, ir::Value gate, ir::Value up);

// x [..., 2*d] -> y [..., d].
void DeclareGated(Contract& c);

// Gate and up projection of one row of x.
struct Gated {
  ir::Value gate;
  ir::Value up;
};
// gate = x[:d], up = x[d:]; `half` is the axis of each.
Gated SplitHalves(ir::Value x, const ir::Axis& half = ir::NamedAxis("d"));
Gated SplitInterleaved(ir::Value x);  // gate = x[0::2], up = x[1::2]

// T((u + 1) * g * sigmoid(alpha*g)) with g = min(gate, limit), u = clamp(up, -limit, limit).
ir::Value SwigluOai(Gated x, ir::Value alpha, ir::Value limit);

ir::Value SiluAndMul(ir::Value x, const ir::Axis& half);  // T(silu(gate) * up)

}  // namespace tenon::ops::activation
