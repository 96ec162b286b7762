#include "emit/index.h"

#include <algorithm>

#include "base/error.h"

namespace tenon::emit {

using ir::Axis;
using ir::Dim;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;
using ir::Type;

Dim LargestIndex(const Dim& index, const Extents& extents) {
  std::map<std::string, Dim> last;
  for (const auto& [variable, extent] : extents) last[variable] = extent - Dim(1);
  return index.Substitute(last);
}

std::optional<std::pair<Dim, Dim>> DivideIndex(const Dim& index, const Dim& divisor,
                                               const Extents& extents) {
  const auto [quotient, rest] = index.SplitBy(divisor);
  if (!rest.NonNegative()) return std::nullopt;
  if (!(divisor - Dim(1) - LargestIndex(rest, extents)).NonNegative()) return std::nullopt;
  return std::pair{quotient, rest};
}

std::vector<AxisGroup> GroupAxes(const std::vector<Axis>& from, const std::vector<Axis>& to) {
  std::vector<AxisGroup> groups;
  size_t i = 0;
  size_t j = 0;
  while (i < from.size() && j < to.size()) {
    AxisGroup group{{static_cast<int>(i)}, {static_cast<int>(j)}};
    Dim left = from[i++].size;
    Dim right = to[j++].size;
    while (!(left == right)) {
      const bool left_divides = !(left == Dim(0)) && Dim::FloorDiv(right, left) * left == right;
      if (left_divides && i < from.size()) {
        left = left * from[i].size;
        group.from.push_back(static_cast<int>(i++));
      } else {
        TENON_CHECK(j < to.size(), "reshape: the axes of both sides do not group");
        right = right * to[j].size;
        group.to.push_back(static_cast<int>(j++));
      }
    }
    groups.push_back(std::move(group));
  }
  // What is left over has size 1 and belongs to the last group.
  if (groups.empty()) groups.emplace_back();
  for (; i < from.size(); ++i) groups.back().from.push_back(static_cast<int>(i));
  for (; j < to.size(); ++j) groups.back().to.push_back(static_cast<int>(j));
  return groups;
}

bool IsMovement(Op op) {
  return op == Op::kBroadcast || op == Op::kSlice || op == Op::kConcat || op == Op::kReshape ||
         op == Op::kTranspose || op == Op::kCopy;
}

std::vector<Dim> BroadcastIndex(const Type& argument, const Type& result,
                                const std::vector<Dim>& at) {
  std::vector<Dim> index;
  for (const Axis& axis : argument.axes) index.push_back(at[result.FindAxis(axis.name)]);
  return index;
}

namespace {

// The part of a concatenation that holds index `at` for every value of the loop variables.
std::pair<NodeId, std::vector<Dim>> ConcatPart(const Graph& graph, const Node& node,
                                               std::vector<Dim> at, const Extents& extents) {
  const Dim index = at[node.dim];
  const Dim last = LargestIndex(index, extents);
  std::map<std::string, Dim> zeros;
  for (const auto& [variable, extent] : extents) zeros[variable] = Dim(0);
  const Dim first = index.Substitute(zeros);
  Dim offset(0);
  for (NodeId part : node.args) {
    const Dim size = graph.node(part).type.axes[node.dim].size;
    if ((first - offset).NonNegative() && (offset + size - Dim(1) - last).NonNegative()) {
      at[node.dim] = index - offset;
      return {part, std::move(at)};
    }
    offset = offset + size;
  }
  throw UsageError(fmt::format("concat: index {} of {} does not lie within one part", index.text(),
                               ir::TypeText(node.type)));
}

std::vector<Dim> ReshapeIndex(const Type& from, const Type& to, const std::vector<Dim>& at,
                              const Extents& extents) {
  std::vector<Dim> index(from.axes.size());
  for (const AxisGroup& group : GroupAxes(from.axes, to.axes)) {
    if (group.from.size() == 1 && group.to.size() == 1) {
      index[group.from[0]] = at[group.to[0]];
      continue;
    }
    Dim linear(0);
    for (int axis : group.to) linear = linear * to.axes[axis].size + at[axis];
    std::vector<int> wide;  // an axis of size 1 has one index
    for (int axis : group.from) {
      if (!(from.axes[axis].size == Dim(1))) wide.push_back(axis);
    }
    for (size_t k = wide.size(); k-- > 1;) {
      const int axis = wide[k];
      const auto parts = DivideIndex(linear, from.axes[axis].size, extents);
      TENON_CHECK(parts.has_value(), "reshape: index {} of {} does not stay within one row of {}",
                  linear.text(), ir::TypeText(to), ir::TypeText(from));
      index[axis] = parts->second;
      linear = parts->first;
    }
    if (!wide.empty()) index[wide[0]] = linear;
  }
  return index;
}

}  // namespace

std::pair<NodeId, std::vector<Dim>> MoveIndex(const Graph& graph, const Node& node,
                                              const std::vector<Dim>& at, const Extents& extents) {
  const NodeId arg = node.args[0];
  const Type& from = graph.node(arg).type;
  switch (node.op) {
    case Op::kSlice: {
      std::vector<Dim> index = at;
      index[node.dim] = index[node.dim] + node.offset;
      return {arg, std::move(index)};
    }
    case Op::kConcat:
      return ConcatPart(graph, node, at, extents);
    case Op::kReshape:
      return {arg, ReshapeIndex(from, node.type, at, extents)};
    case Op::kTranspose:
    case Op::kBroadcast:
      return {arg, BroadcastIndex(from, node.type, at)};
    case Op::kCopy:
      return {arg, at};
    default:
      throw InternalError(__FILE__, __LINE__,
                          fmt::format("{} does not move elements", ir::OpName(node.op)));
  }
}

}  // namespace tenon::emit
