// Quantisation, as the operators of this family and those fused with it compute it.
//
// Everything divides by the scale that is stored, in float32, so that a fused operator returns the
// bits of its parts. int8 is rounded to nearest even and saturates, NaN becomes 0; e4m3 saturates
// at 448, NaN stays NaN.
#pragma once

#include "ir/builder.h"
#include "ops/contract.h"

namespace tenon::ops::quant {

struct Quantised {
  ir::Value values;  // `dtype`
  ir::Value scale;   // f32, without the last axis of x
};

// max(a, 1e-10) / largest value of `dtype` (i8 or f8e4m3), rounded to float32: a row of zeros gets
// a scale that is not 0.
ir::Value ScaleOf(ir::Value amax, DType dtype);

// One scale per row of the last axis, ScaleOf(max|x|), and x / scale. A NaN does not count in the
// maximum.
Quantised PerToken(ir::Value x, DType dtype);

// x [..., hidden] in groups [..., groups, group_size], each with its scale, in e4m3; the scale is
// rounded up to a power of two where `ue8m0` is true.
void DeclareGroupedRow(Contract& c, std::string_view name);  // x, seen as one axis `hidden`
void DeclareGroupResults(Contract& c);                       // q and scale
Quantised PerGroup(ir::Value x, ir::Value ue8m0);

// Scale and offset given: one element each, or one per channel. An offset is an integer, added
// after rounding; e4m3 has none. `dtype` is an attribute of that name.
void DeclareScale(Contract& c);
void DeclareOffset(Contract& c);
void DeclareDType(Contract& c);
ir::Value Static(const Body& b, ir::Value x);

}  // namespace tenon::ops::quant
