// What a loop keeps: in scratch rows for later loops of its nest, or between its own two stages.
#pragma once

#include <optional>
#include <utility>
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

// Adds to the keeps of `rows`, the nest without middle axes, what a nest after it would compute
// from elements of the same rows again. Extents are those of the nests' loop variables.
void ChooseRowKeeps(const ir::Graph& graph, const Extents& row_extents, Nest& rows,
                    const Extents& extents, const Nest& nest);

// The value at [row, lane] of which `value` at [row, offset + lane] is a later part, and the
// offset.
std::optional<std::pair<ValueAt, ir::Dim>> WholeRowOf(const ValueAt& value);

// Fills Loop::stage. The arithmetic of one vector is a chain of dependent instructions, and a core
// overlaps those of as many vectors as its window of some 300 instructions holds. Where a chain is
// long before a rounding to storage and still has a division and a conversion behind it, two short
// chains fill the units better: silu_and_mul_quant of 12288 wide rows, two threads on Zen 4,
// 64 tokens: f32 233 -> 193 us, bf16 297 -> 233 us.
void ChooseStages(const ir::Graph& graph, const Extents& extents, Nest& nest);

}  // namespace tenon::emit
