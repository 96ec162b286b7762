// The type of a node from its arguments: the one statement of every op's shape and element rule.
#pragma once

#include "ir/ir.h"

namespace tenon::ir {

// The type that `node` must have given its arguments' types in `graph`. Nodes whose type is their
// own declaration (inputs, constants, slices, reshapes ...) get it checked against the arguments.
// UsageError with the op and the axes that do not fit. Rows and slices are written with the
// target's element type: rounding is a node, never a side effect of a store.
Type InferType(const Graph& graph, const Node& node);

}  // namespace tenon::ir
