// Axes that a list of numbers names: those that an operator reduces.
#pragma once

#include <string_view>
#include <vector>

#include "ops/contract.h"
#include "tenon/tensor.h"

namespace tenon::ops {

// For each axis of a tensor of `rank` axes whether the list names it. Negative numbers count from
// the end, an empty list names all. UsageError, in the name of the operator `op`, for an axis that
// is not there and for one that is named twice.
std::vector<bool> NamedAxes(std::string_view op, std::string_view list_name,
                            const std::vector<int64_t>& list, int rank);

// `x` with the named axes at the end, in their order, behind the others.
Tensor NamedAxesLast(const Tensor& x, const std::vector<bool>& named);

// The shape of a result that lacks the named axes, or has them as 1.
std::vector<int64_t> ReducedShape(std::span<const int64_t> shape, const std::vector<bool>& named,
                                  bool keep);

}  // namespace tenon::ops
