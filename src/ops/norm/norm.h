// What the norms, and the operators fused around them, compute.
#pragma once

#include <functional>

#include "ir/builder.h"
#include "ops/contract.h"

namespace tenon::ops::norm {

// Factor and addend of a normalised value; a default Value is left out.
struct Affine {
  ir::Value weight;
  ir::Value bias;
};

// The weight and bias of a contract by their names (`bias` may be empty). `weight_offset` is added
// in float32, since adding 1 in bf16 would lose small weights.
Affine OffsetAffine(const Body& b, std::string_view weight, std::string_view bias);

// value * weight + bias, in float32.
ir::Value Apply(ir::Value value, Affine affine);

// 1/sqrt(mean(v^2) + eps) over the last axis of v.
ir::Value Rstd(ir::Value v, ir::Value eps);

// T(x * rstd(x) * weight + bias).
ir::Value RmsNorm(ir::Value x, ir::Value eps, Affine affine);

// T((x - mean(x)) * rstd(x - mean(x)) * weight + bias).
ir::Value LayerNorm(ir::Value x, ir::Value eps, Affine affine);

// Weight and bias of a norm over one axis `hidden` that is seen in groups elsewhere.
void DeclareGroupedWeight(Contract& c);
void DeclareGroupedBias(Contract& c);

// The gated norms: groups of channels of x, each with statistics of its own, and a gate z.
void DeclareGroups(Contract& c);     // x
void DeclareGroupBias(Contract& c);  // bias
void DeclareGate(Contract& c);       // z
void DeclareGating(Contract& c);     // group_size, norm_before_gate, act, and the output y

// Their common body: `normalise` is what comes before weight and bias.
ir::Value Gated(const Body& b, const std::function<ir::Value(ir::Value)>& normalise);

}  // namespace tenon::ops::norm
