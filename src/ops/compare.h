// Is a result right? Against the float64 reference, within the documented tolerances: tests ask
// this of every kernel, and no bench prints a time before it has asked.
#pragma once

#include <string>

#include "ir/ir.h"
#include "ops/case.h"

namespace tenon::ops {

struct Tolerance {
  double rtol;
  double atol;
};

// Of a float type, for values that are rounded to a storage type so often on their way (a fused
// operator rounds where its parts store).
Tolerance ToleranceOf(DType dtype, int roundings);

// How often a value is rounded to the storage type on its way to node `id`.
int Roundings(const ir::Graph& graph, ir::NodeId id);

// What differs between the outputs of a case whose kernel has run and the reference; empty when all
// is within the tolerances: floats by ToleranceOf, with NaN and infinities in the same places;
// quantised values by at most one step in at most 1 % of the elements.
std::string DeviationFromReference(const Case& test);

}  // namespace tenon::ops
