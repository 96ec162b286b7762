// What the norms, and the operators fused around them, compute.
#pragma once

#include "ir/builder.h"
#include "ops/contract.h"

namespace tenon::ops::norm {

// Factor and addend of a normalised value. An absent weight reads as 1, an absent bias as -0.0.
struct Affine {
  ir::Value weight;
  ir::Value bias;
};

// T(x * rstd * weight + bias), rstd = 1/sqrt(mean(v^2) + eps) over the axis `axis` of `v`, which is
// x or its leading part.
ir::Value RmsNorm(ir::Value x, ir::Value v, std::string_view axis, ir::Value eps, Affine affine);

// The statistics over the last axis of x itself.
ir::Value RmsNorm(ir::Value x, ir::Value eps, Affine affine);

// The weight and bias that the declarations of a contract name; weight + weight_offset in float32,
// since adding 1 in bf16 would lose small weights.
Affine OffsetAffine(const Body& b, std::string_view weight, std::string_view bias);

}  // namespace tenon::ops::norm
