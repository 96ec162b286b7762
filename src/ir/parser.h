// Reads the text form that printer.h writes.
#pragma once

#include <string_view>

#include "ir/ir.h"

namespace tenon::ir {

// UsageError "<origin>:<line>:<column>: expected ..., got ..." when the text is not a graph, or a
// node's type is not the one that its arguments give.
Graph ParseGraph(std::string_view text, std::string_view origin = "graph");

}  // namespace tenon::ir
