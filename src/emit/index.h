// Index algebra of movement nodes: where a node's element comes from in its arguments.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/ir.h"

namespace tenon::emit {

// Number of values that each loop variable takes, from 0.
using Extents = std::map<std::string, ir::Dim>;

// Largest value of an index expression over its loop variables.
ir::Dim LargestIndex(const ir::Dim& index, const Extents& extents);

// index == q*divisor + r with 0 <= r < divisor proven from the extents.
std::optional<std::pair<ir::Dim, ir::Dim>> DivideIndex(const ir::Dim& index, const ir::Dim& divisor,
                                                       const Extents& extents);

// Axes of a reshape that belong together: products of sizes are equal on both sides.
struct AxisGroup {
  std::vector<int> from;  // positions in the argument
  std::vector<int> to;    // positions in the result
};
std::vector<AxisGroup> GroupAxes(const std::vector<ir::Axis>& from,
                                 const std::vector<ir::Axis>& to);

// Where element `at` of a movement node (slice, concat, reshape, transpose, broadcast, copy) comes
// from: which argument, and the index in it. UsageError when it cannot be proven.
std::pair<ir::NodeId, std::vector<ir::Dim>> MoveIndex(const ir::Graph& graph, const ir::Node& node,
                                                      const std::vector<ir::Dim>& at,
                                                      const Extents& extents);

bool IsMovement(ir::Op op);

// Index of an argument that broadcasts to the result: `at` picked by axis name.
std::vector<ir::Dim> BroadcastIndex(const ir::Type& argument, const ir::Type& result,
                                    const std::vector<ir::Dim>& at);

}  // namespace tenon::emit
