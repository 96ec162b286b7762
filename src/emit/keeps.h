// What a loop keeps in scratch rows for later loops of its nest.
#pragma once

#include <vector>

#include "emit/index.h"
#include "emit/plan.h"

namespace tenon::emit {

// `extents` with the lane variable's.
Extents WithLane(Extents extents, const ir::Dim& lanes);

// True when a load of the value is cheaper than computing it again.
bool IsWorthKeeping(const ir::Graph& graph, const ValueAt& value, const Extents& extents);

// Fills Loop::keeps. A value that a later loop of the same extent needs again is kept when that is
// cheaper than computing it again, or when an output that may share an input's memory has been
// stored in between. `extents` are those of the nest's loop variables.
void ChooseKeeps(const ir::Graph& graph, const std::vector<PlanTensor>& tensors,
                 const Extents& extents, Nest& nest);

}  // namespace tenon::emit
