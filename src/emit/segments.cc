#include "emit/segments.h"

#include <algorithm>

#include "base/error.h"
#include "emit/index.h"

namespace tenon::emit {

using ir::Axis;
using ir::Dim;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;

std::vector<ValueAt> ArgsOf(const Graph& graph, const ValueAt& value, const Extents& extents) {
  const Node& node = graph.node(value.node);
  if (node.op == Op::kReduce) return {};
  if (IsMovement(node.op)) {
    auto [arg, at] = MoveIndex(graph, node, value.at, extents);
    return {{arg, std::move(at)}};
  }
  if (node.op == Op::kGatherRow) {
    const ir::Type& index = graph.node(node.args[1]).type;
    const auto split = value.at.begin() + static_cast<int64_t>(index.axes.size());
    return {{node.args[1], {value.at.begin(), split}}};
  }
  std::vector<ValueAt> args;
  for (NodeId arg : node.args) {
    args.push_back({arg, BroadcastIndex(graph.node(arg).type, node.type, value.at)});
  }
  return args;
}

namespace {

// A stretch of a value's last axis.
struct Stretch {
  Dim offset;
  Dim size;
  bool pairs = false;  // interleaved: even and odd elements are different expressions
};

bool IsElementwise(const Node& node) {
  return !node.args.empty() && !IsMovement(node.op) && node.op != Op::kReduce &&
         node.op != Op::kGatherRow;
}

// The stretches that a value's last axis consists of.
std::vector<Stretch> StretchesOf(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Axis& last = node.type.axes.back();
  const std::vector<Stretch> whole = {{Dim(0), last.size, false}};
  if (node.op == Op::kConcat && node.dim == static_cast<int>(node.type.axes.size()) - 1) {
    std::vector<Stretch> stretches;
    Dim offset(0);
    for (NodeId part : node.args) {
      for (Stretch stretch : StretchesOf(graph, part)) {
        stretch.offset = stretch.offset + offset;
        stretches.push_back(std::move(stretch));
      }
      offset = offset + graph.node(part).type.axes.back().size;
    }
    return stretches;
  }
  if (node.op == Op::kReshape) {
    const std::vector<Axis>& from = graph.node(node.args[0]).type.axes;
    const AxisGroup group = GroupAxes(from, node.type.axes).back();
    if (group.from.size() == 1 && group.to.size() == 1) return StretchesOf(graph, node.args[0]);
    if (group.to.size() == 1 && from.back().size == Dim(2)) return {{Dim(0), last.size, true}};
    return whole;
  }
  if (!IsElementwise(node) && node.op != Op::kBroadcast && node.op != Op::kCopy) return whole;
  std::vector<Stretch> stretches = whole;
  for (NodeId arg : node.args) {
    const std::vector<Axis>& axes = graph.node(arg).type.axes;
    if (axes.empty() || !(axes.back() == last)) continue;
    std::vector<Stretch> more = StretchesOf(graph, arg);
    if (more.size() > stretches.size() || more[0].pairs) stretches = std::move(more);
  }
  return stretches;
}

// The axes to loop over: those of the output, an axis that merges several ones taken apart (but
// for interleaved pairs, which are stretches). `at` gives the output's index for them.
struct LoopAxes {
  std::vector<Axis> axes;
  std::vector<Dim> at;
};

LoopAxes LoopAxesOf(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  LoopAxes loops;
  for (const Axis& axis : node.type.axes) {
    loops.axes.push_back(axis);
    loops.at.push_back(Dim(LoopVar(axis.name)));
  }
  if (IsElementwise(node) || node.op == Op::kCopy) {
    for (NodeId arg : node.args) {
      if (graph.node(arg).type.axes == node.type.axes) {
        LoopAxes inner = LoopAxesOf(graph, arg);
        if (inner.axes.size() > loops.axes.size()) loops = std::move(inner);
      }
    }
    return loops;
  }
  if (node.op != Op::kReshape) return loops;
  const std::vector<Axis>& from = graph.node(node.args[0]).type.axes;
  LoopAxes inner = LoopAxesOf(graph, node.args[0]);
  if (inner.axes != from) return loops;  // one level of merging is enough for every body
  LoopAxes merged;
  for (const AxisGroup& group : GroupAxes(from, node.type.axes)) {
    // Axes of size 1 come and go without anything being merged.
    const auto wide = std::count_if(group.from.begin(), group.from.end(),
                                    [&](int axis) { return !(from[axis].size == Dim(1)); });
    const bool merges =
        group.to.size() == 1 && wide > 1 && !(from[group.from.back()].size == Dim(2));
    if (!merges) {
      for (int axis : group.to) {
        merged.axes.push_back(node.type.axes[axis]);
        merged.at.push_back(Dim(LoopVar(node.type.axes[axis].name)));
      }
      continue;
    }
    Dim linear(0);
    for (int axis : group.from) {
      linear = linear * from[axis].size + Dim(LoopVar(from[axis].name));
      merged.axes.push_back(from[axis]);
    }
    merged.at.push_back(linear);
  }
  return merged;
}

bool DependsOnReduction(const Graph& graph, NodeId id, const std::string& axis) {
  const Node& node = graph.node(id);
  if (node.type.FindAxis(axis) < 0) return false;
  if (node.op == Op::kReduce) return true;
  for (NodeId arg : node.args) {
    if (DependsOnReduction(graph, arg, axis)) return true;
  }
  return false;
}

}  // namespace

OutputLoops LoopsOfOutput(const Graph& graph, NodeId value, const std::string& row_axis) {
  const LoopAxes loops = LoopAxesOf(graph, value);
  OutputLoops result;
  std::map<std::string, Dim> rename = {{LoopVar(row_axis), Dim(kRowVar)}};
  const auto index_with = [&](const Dim& last_index) {
    std::map<std::string, Dim> values = rename;
    if (loops.axes.size() > 1) values[LoopVar(loops.axes.back().name)] = last_index;
    std::vector<Dim> at;
    for (const Dim& index : loops.at) at.push_back(index.Substitute(values));
    return at;
  };
  const bool has_last = loops.axes.size() > 1;
  const Axis last = has_last ? loops.axes.back() : Axis{"", Dim(1)};
  for (size_t i = 1; i + 1 < loops.axes.size(); ++i) result.rows.push_back(loops.axes[i]);
  if (!has_last || last.size == Dim(1)) {
    result.segments.push_back({Dim(0), index_with(Dim(0)), {index_with(Dim(0))}});
    return result;
  }
  if (DependsOnReduction(graph, value, last.name)) {  // one value per row of the last axis
    result.rows.push_back(last);
    const std::vector<Dim> at = index_with(Dim(LoopVar(last.name)));
    result.segments.push_back({Dim(0), at, {at}});
    return result;
  }
  // Merged axes: the last loop axis is one axis of the merged value, whole.
  std::vector<Stretch> stretches = {{Dim(0), last.size, false}};
  if (loops.axes == graph.node(value).type.axes) stretches = StretchesOf(graph, value);
  const Dim lane(kLaneVar);
  for (const Stretch& stretch : stretches) {
    OutputSegment segment;
    if (stretch.pairs) {
      segment.lanes = Dim::FloorDiv(stretch.size, 2);
      segment.at = index_with(stretch.offset + Dim(2) * lane);
      segment.values_at = {segment.at, index_with(stretch.offset + Dim(2) * lane + Dim(1))};
    } else {
      segment.lanes = stretch.size;
      segment.at = index_with(stretch.offset + lane);
      segment.values_at = {segment.at};
    }
    result.segments.push_back(std::move(segment));
  }
  return result;
}

}  // namespace tenon::emit
