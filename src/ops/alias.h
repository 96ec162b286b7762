// Whether views share elements, exactly: two slices of one packed buffer may interleave without.
#pragma once

#include "tenon/tensor.h"

namespace tenon::ops {

// Some element of `a` and some element of `b` have a byte in common. Exact for every layout that
// occurs; gives up on contrived ones after a bounded search and then says yes.
bool ShareMemory(const Tensor& a, const Tensor& b);

// Two different elements of `t` share a byte (stride 0, or rows that overlap). May say yes of
// contrived strides that are not nested in each other.
bool OverlapsItself(const Tensor& t);

}  // namespace tenon::ops
