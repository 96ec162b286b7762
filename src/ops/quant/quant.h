// Quantisation, as the operators of this family and those fused with it compute it.
#pragma once

#include "ir/builder.h"

namespace tenon::ops::quant {

struct Quantised {
  ir::Value values;  // `dtype`
  ir::Value scale;   // f32, without the last axis of x
};

// One scale per row: scale = max(max|x|, 1e-10) / largest value of `dtype` (i8 or f8e4m3), and
// x / scale rounded to nearest even. Divides by the scale that is stored. A NaN does not count in
// the maximum and becomes 0 in i8; a row of zeros gives zeros.
Quantised PerToken(ir::Value x, DType dtype);

}  // namespace tenon::ops::quant
