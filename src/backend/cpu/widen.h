// A contiguous array as float32, vectorised for the instruction set in use.
#pragma once

#include <cstdint>

#include "tenon/tensor.h"

namespace tenon::cpu {

// f32, f16, bf16, f8e4m3 or i8.
void Widen(const void* from, DType dtype, int64_t count, float* to);

}  // namespace tenon::cpu
