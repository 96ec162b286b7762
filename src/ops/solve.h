// The part of Resolve that knows about shapes, and the views that it hands to bodies.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ops/resolve.h"

namespace tenon::ops {

// Solves `call.sizes` and `call.lead` from the shapes of the inputs' views, checks all of them, and
// replaces the views by what the body sees.
void SolveShapes(Resolved& call, std::string_view name);

// What the contract demands of the sizes and attributes of a call.
void CheckRequirements(const Resolved& call, std::string_view name);

// A tensor that the contract describes as `shape` as one with the body's axes.
Tensor BodyView(const Tensor& tensor, int lead_rank, const Shape& shape,
                const std::vector<ir::Axis>& axes, const ir::Bindings& sizes);

Tensor AxisMovedLast(const Tensor& tensor, int axis);

// Rank, sizes, pointer and alignment make sense.
void CheckMemory(std::string_view op, std::string_view argument, const Tensor& tensor);

std::string StridesText(const Tensor& tensor);
std::string OrText(std::span<const std::string> choices);  // "a, b or c"

}  // namespace tenon::ops
