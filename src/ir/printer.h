// The text form of a graph: what reports carry, golden tests compare and people read. The parser
// (parser.h) reads it back exactly.
//
//   graph rms_norm {
//     %x = input "x" : T[tokens, hidden]
//     %weight = input optional(1) "weight" : W[hidden]
//     %2 = mul %x, %x : f32[tokens, hidden]
//     %3 = reduce mean axis=hidden %2 : f32[tokens]
//     %eps = attr "eps" : f32[]
//     ...
//     %9 = round %8 : T[tokens, hidden] loc("norm.py":12, "RMSNorm.forward")
//     output "y" = %9
//   }
//
// A node reads: %label = op, the fields that the op uses, arguments, type (several results: types
// in parentheses), source position. Labels are the names of inputs and attributes, else numbers.
// Fields at their usual value are left out: a min or max that propagates NaN, a cast to nearest
// that saturates. `#` starts a comment that goes to the end of the line.
#pragma once

#include <string>

#include "ir/ir.h"

namespace tenon::ir {

std::string PrintGraph(const Graph& graph);

// One node's line, without indentation and source position: for sentences.
std::string NodeText(const Graph& graph, NodeId id);

}  // namespace tenon::ir
