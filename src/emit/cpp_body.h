// The body of one row-wise kernel: the walk over a plan that turns values into C++ statements.
#pragma once

#include <string>

#include "emit/plan.h"
#include "ir/ir.h"

namespace tenon::emit {

// The function template `template <typename T> void <function>(const RowCall&, int64_t, int64_t)`,
// with its header comment.
std::string CppFunction(const ir::Graph& graph, const RowPlan& plan, const std::string& function,
                        const std::string& computes);

}  // namespace tenon::emit
