// One spelling for graphs that compute the same bits, so that patterns match what a graph means.
#pragma once

#include "ir/ir.h"

namespace tenon::ir {

// Every rule keeps the bits of every output (which NaN a NaN is, aside), in float32 arithmetic with
// contraction off and roundings where the graph has them. The rules, with why they are exact:
//
//   a + b, a * b, a == b ...    arguments in one order: IEEE addition and multiplication commute.
//   min, max                    only with a constant other than zero: of two zeros of different
//                               sign either may come out.
//   x - c, x + -y, x - -y       x + -c, x - y, x + y: IEEE subtraction is addition of the negative.
//   x * 1, x / 1, x + -0.0      x. x + 0.0 stays: -0.0 + 0.0 is 0.0.
//   x * -1, -(-x), |-x|, ||x||  -x, x, |x|, |x|: the sign is a bit.
//   x / c, c a power of two     x * 1/c: both round the same real number.
//   1 / sqrt(x)                 rsqrt(x), which is defined so. x / sqrt(y) stays.
//   op of constants             the constant, for operations that IEEE rounds correctly.
//   cast to f32 of a float      dropped before arithmetic, which reads every float widened exactly.
//   cast, round to what it is   dropped: rounding a second time to the same type changes nothing.
//   cast to f16, bf16, f8, T    round, when to nearest even: the same operation. Rounding to an
//   round to an integer, f32    integer type or of a narrower float to f32 is a cast.
//   not not x, select(not c)    x, select(c) with the choices exchanged.
//   max(min(x, h), l), l < h    min(max(x, l), h): equal for every x, NaN included.
//   copy, movement to the same  dropped: movement keeps bits. Reshapes of reshapes, slices of
//   type, broadcast before      slices and of the part of a concat that they lie in are joined.
//   element-wise arithmetic     Element-wise nodes broadcast by axis name themselves.
//
// Sigmoid and 1/(1 + exp(-x)), mean and sum/n, a*b + c and fma stay different: their bits differ.
// Nodes that no output needs are removed, the others numbered in an order that the structure gives.
Graph NormalForm(const Graph& graph);

}  // namespace tenon::ir
