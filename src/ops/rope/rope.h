// Rotary position embedding, as the operators of this family and those fused with it compute it.
#pragma once

#include "ir/builder.h"
#include "ops/contract.h"

namespace tenon::ops::rope {

// The rotation of each token, and which elements form its pairs: with is_neox element j and j+half,
// else 2j and 2j+1.
struct Rotation {
  ir::Value cos;  // [tokens, half]
  ir::Value sin;
  bool is_neox = true;
};

// `positions` and `cos_sin_cache` [rows, 2*half]: a row holds half cosines, then half sines.
void DeclarePositions(Contract& c);
void DeclareCosSinCache(Contract& c);

Rotation GatherRotation(const Body& b);
Rotation Inverse(Rotation rotation, ir::Value inverse);  // the other way where `inverse` is true

// x with the elements [offset, offset + 2*half) of its last axis rotated, each rounded once:
// a*cos - b*sin, b*cos + a*sin. The others are copied.
ir::Value Rotate(ir::Value x, const Rotation& rotation, const ir::Dim& offset);

}  // namespace tenon::ops::rope
