#include "ir/transform.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "ir/infer.h"
#include "ir/op_table.h"

namespace tenon::ir {

NodeId GraphCopy::operator[](NodeId old) const {
  const NodeId id = ids_[static_cast<size_t>(old)];
  TENON_ASSERT(id >= 0, "graph {}: node %{} is used but was not copied", source_.name(), old);
  return id;
}

Node GraphCopy::Remapped(NodeId old) const {
  Node node = source_.node(old);
  for (NodeId& arg : node.args) arg = (*this)[arg];
  return node;
}

NodeId GraphCopy::Add(Node node) {
  node.type = InferType(graph_, node);
  return graph_.Add(std::move(node));
}

void GraphCopy::CopyOutputs() {
  for (Output output : source_.outputs()) {
    output.value = (*this)[output.value];
    graph_.AddOutput(std::move(output));
  }
}

namespace {

// Copies the whole graph, changing every declared type by `retype` (given the node) first.
template <typename Retype>
Graph CopyRetyped(const Graph& graph, Retype&& retype) {
  GraphCopy copy(graph);
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    Node node = copy.Remapped(id);
    retype(node, node.type);
    for (Type& result : node.results) retype(node, result);
    copy.Set(id, copy.Add(std::move(node)));
  }
  copy.CopyOutputs();
  return std::move(copy.graph());
}

std::vector<bool> LiveNodes(const Graph& graph, std::span<const NodeId> roots,
                            const std::set<NodeId>& stop) {
  std::vector<bool> live(graph.nodes().size(), false);
  for (NodeId root : roots) live[static_cast<size_t>(root)] = true;
  for (auto id = static_cast<NodeId>(live.size()); id-- > 0;) {
    if (!live[static_cast<size_t>(id)] || stop.contains(id)) continue;
    for (NodeId arg : graph.node(id).args) live[static_cast<size_t>(arg)] = true;
  }
  return live;
}

std::string UniqueName(std::string name, std::set<std::string>* taken) {
  std::string unique = name;
  for (int i = 2; !taken->insert(unique).second; ++i) unique = fmt::format("{}_{}", name, i);
  return unique;
}

}  // namespace

Graph BindStorage(const Graph& graph, DType storage, const std::map<std::string, DType>& params) {
  return CopyRetyped(graph, [&](const Node& node, Type& type) {
    if (type.elem.kind == Elem::Kind::kStorage) type.elem = storage;
    if (type.elem.concrete() || node.op != Op::kInput) return;
    const auto it = params.find(node.name);
    const DType fallback = type.elem == Elem::Param() ? DType::kF32 : DType::kI64;
    type.elem = it == params.end() ? fallback : it->second;
  });
}

Graph SubstituteSizes(const Graph& graph, const std::map<std::string, Dim>& sizes) {
  GraphCopy copy(graph);
  const auto substitute = [&](Type& type) {
    for (Axis& axis : type.axes) axis.size = axis.size.Substitute(sizes);
  };
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    Node node = copy.Remapped(id);
    substitute(node.type);
    for (Type& result : node.results) substitute(result);
    node.offset = node.offset.Substitute(sizes);
    copy.Set(id, copy.Add(std::move(node)));
  }
  for (Output output : graph.outputs()) {
    output.value = copy[output.value];
    for (Dim& stride : output.strides) stride = stride.Substitute(sizes);
    copy.graph().AddOutput(std::move(output));
  }
  return std::move(copy.graph());
}

Graph EliminateDeadNodes(const Graph& graph) {
  std::vector<NodeId> roots;
  for (const Output& output : graph.outputs()) roots.push_back(output.value);
  const std::vector<bool> live = LiveNodes(graph, roots, {});
  GraphCopy copy(graph);
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    if (!live[static_cast<size_t>(id)] && graph.node(id).op != Op::kInput) continue;
    copy.Set(id, copy.Add(copy.Remapped(id)));
  }
  copy.CopyOutputs();
  return std::move(copy.graph());
}

Graph Renumber(const Graph& graph) {
  GraphCopy copy(graph);
  for (NodeId id : graph.inputs()) copy.Set(id, copy.Add(graph.node(id)));
  std::vector<NodeId> stack;
  for (const Output& output : graph.outputs()) {
    stack.push_back(output.value);
    while (!stack.empty()) {
      const NodeId id = stack.back();
      const std::vector<NodeId>& args = graph.node(id).args;
      const auto missing =
          std::find_if(args.begin(), args.end(), [&](NodeId arg) { return !copy.Has(arg); });
      if (missing != args.end()) {
        stack.push_back(*missing);
        continue;
      }
      if (!copy.Has(id)) copy.Set(id, copy.Add(copy.Remapped(id)));
      stack.pop_back();
    }
  }
  copy.CopyOutputs();
  return std::move(copy.graph());
}

std::string ValueName(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op == Op::kInput || node.op == Op::kAttr) return node.name;
  for (const Output& output : graph.outputs()) {
    if (output.value == id) return output.name;
  }
  if (node.op == Op::kCall) return node.name;
  if (node.op == Op::kResult) {
    return fmt::format("{}_{}", ValueName(graph, node.args[0]), node.dim);
  }
  // What only moves or rounds is named after what it moves.
  if (IsMovement(node.op) || RowOf(node.op).op_class == OpClass::kPrecision ||
      node.op == Op::kGatherRow) {
    return ValueName(graph, node.args[0]);
  }
  return std::string(node.op == Op::kReduce ? ReduceName(node.reduce) : OpName(node.op));
}

Graph ExtractSubgraph(const Graph& graph, std::string name, std::span<const NodeId> inputs,
                      std::span<const NodeId> outputs) {
  const std::set<NodeId> boundary(inputs.begin(), inputs.end());
  const std::vector<bool> live = LiveNodes(graph, outputs, boundary);
  std::set<std::string> names;
  for (NodeId id = 0; id < static_cast<NodeId>(live.size()); ++id) {
    if (live[static_cast<size_t>(id)] && graph.node(id).op == Op::kInput) {
      names.insert(graph.node(id).name);
    }
  }
  GraphCopy copy(graph);
  copy.graph().set_name(std::move(name));
  for (NodeId id = 0; id < static_cast<NodeId>(live.size()); ++id) {
    const Node& node = graph.node(id);
    if (!live[static_cast<size_t>(id)]) continue;
    if (!boundary.contains(id) || node.op == Op::kInput) {
      copy.Set(id, copy.Add(copy.Remapped(id)));
      continue;
    }
    Node input;
    input.op = Op::kInput;
    input.name = UniqueName(ValueName(graph, id), &names);
    input.type = node.type;
    input.span = node.span;
    copy.Set(id, copy.Add(std::move(input)));
  }
  std::set<std::string> output_names;
  for (NodeId id : outputs) {
    Output output;
    for (const Output& whole : graph.outputs()) {
      if (whole.value == id) output = whole;
    }
    const std::string wanted = output.name.empty() ? ValueName(graph, id) : output.name;
    output.name = UniqueName(wanted, &output_names);
    output.value = copy[id];
    if (copy.graph().FindInput(output.in_place) < 0) output.in_place.clear();
    copy.graph().AddOutput(std::move(output));
  }
  return std::move(copy.graph());
}

}  // namespace tenon::ir
