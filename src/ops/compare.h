// Is a result right? Elements against the float64 reference, within the documented tolerances.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/host_array.h"
#include "ir/ir.h"
#include "tenon/tensor.h"

namespace tenon::ops {

struct Tolerance {
  double rtol = 0;
  double atol = 0;
  // What `atol` is multiplied with, where above 1: the row's largest magnitude, or that of the
  // element at the same place among these (one for several, if there are fewer).
  bool relative_to_row = false;
  std::vector<double> scales = {};
};

// Of output `id` of a body, stored as `dtype`: a float type by how often the value is rounded on
// its way (once, or as a chain of operators that each store their result), any other exactly.
// Where the body adds terms that are rounded or computed each, they may cancel: what is left has
// the error of the terms, so the absolute part is relative to the row.
Tolerance ToleranceOf(const ir::Graph& graph, ir::NodeId id, DType dtype);

// Of an output behind `products` matrix products, one after the other: 2^-20 of `of_all`, and four
// units of what the last one makes of stored values (reference.h: Magnitudes).
Tolerance ProductTolerance(DType dtype, int products, const ir::HostArray& of_all,
                           const ir::HostArray& of_last);
// Products on the longest way to the node; 0 where there is none.
int CountProducts(const ir::Graph& graph, ir::NodeId id);

struct Deviation {
  double worst = 0;    // largest difference, as a share of what is allowed
  int64_t beyond = 0;  // elements that differ by more than allowed
  std::string text;    // of the first of them; empty when all is within the tolerance
};

// `reference` has the elements of `got` in row-major order and rows along its first axis. NaN and
// infinities must be in the same places (where the scale is infinite, no finite value). Quantised
// values (int8, fp8) may be one step off, in at most 1 % of the elements (one of fewer than 100),
// whatever `tolerance` is.
Deviation Compare(const Tensor& got, const ir::HostArray& reference, const Tolerance& tolerance);

}  // namespace tenon::ops
