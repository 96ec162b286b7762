// Which loops store quotients by one divisor as int8, for which a kernel need not divide
// (backend/cpu/quotient-inl.h).
#pragma once

#include <vector>

#include "emit/index.h"
#include "emit/plan.h"

namespace tenon::emit {

// Fills Loop::quotient of element-wise loops whose only store is cast(x / d) or
// cast(round(x / d) + offset) to int8, where d is the same for all lanes, or a parameter for which
// the caller may pass one number: there, and where the cast is to f8e4m3, PlanTensor::may_be_one
// becomes true. The offset is an optional input.
void ChooseQuotients(const ir::Graph& graph, const Extents& extents,
                     std::vector<PlanTensor>& tensors, Nest& nest);

}  // namespace tenon::emit
