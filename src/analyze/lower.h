// From operators to IR: what `analyze` ends with and `fuse` starts from.
//
// An operator becomes a call of its canonical name with the operator's attributes, those of
// ir/source_op.h and its span; an opaque operator an opaque node. Weights and tensors that no
// operator defines become inputs, views become slices and reshapes.
#pragma once

#include "analyze/analysis.h"
#include "analyze/analyze.h"
#include "ir/ir.h"

namespace tenon::analyze {

// Outputs are the values that no operator of the layer consumes, in the order of definition.
ir::Graph LowerVariant(const Variant& variant);

// The operators outside the layers, likewise.
ir::Graph LowerOps(std::string name, const std::vector<Op>& ops);

// Scalar arguments become attributes of the graph.
ir::Graph LowerFunction(const FunctionTrace& trace);

}  // namespace tenon::analyze
