// Contiguous copies of views.
#pragma once

#include "ops/strided.h"
#include "tenon/op.h"

namespace tenon::ops {

// The elements of a CPU view in row-major order, rounded to `dtype` where that is another.
Buffer DenseCopy(const Tensor& view, DType dtype);

}  // namespace tenon::ops
