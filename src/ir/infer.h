// The type of a node from its arguments: the one statement of every op's shape and element rule.
#pragma once

#include "ir/ir.h"

namespace tenon::ir {

// The type that `node` must have given its arguments' types in `graph`. Nodes whose type is their
// own declaration (inputs, constants, slices, reshapes ...) get it checked against the arguments.
// UsageError with the op and the axes that do not fit.
Type InferType(const Graph& graph, const Node& node);

}  // namespace tenon::ir
