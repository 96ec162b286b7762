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

Rotation GatherRotation(const Body& b, std::string_view positions = "positions");
Rotation Inverse(Rotation rotation, ir::Value inverse);  // the other way where `inverse` is true

// Positions of time, height and width for each token, and the numbers of channels that turn by
// each: blocks of channels, or with mrope_interleaved every third one as long as there are any (the
// rest is time).
void DeclareSectionPositions(Contract& c);
void DeclareSections(Contract& c);
Rotation GatherSections(const Body& b, bool is_neox);

// cos_sin_cache, positions and layout of gather_cos_sin, and its body.
void DeclareGatheredTable(Contract& c);
void GatherCosSin(Body& b);

// x with the elements [offset, offset + 2*half) of its last axis rotated, each rounded once:
// a*cos - b*sin, b*cos + a*sin. The others are copied.
ir::Value Rotate(ir::Value x, const Rotation& rotation, const ir::Dim& offset);

}  // namespace tenon::ops::rope
