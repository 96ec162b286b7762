#include "fuse/body.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "ir/normal_form.h"
#include "ir/transform.h"
#include "ir/verifier.h"
#include "ops/registry.h"

namespace tenon::fuse {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;

// The static choices that the call's attributes and arguments make.
ops::Choices ChoicesOf(const ops::Contract& contract, const Node& call) {
  std::set<std::string> given;
  if (const auto it = call.call.find(std::string(ir::kCallArgs)); it != call.call.end()) {
    for (std::string& name : Split(std::get<std::string>(it->second), ',')) {
      given.insert(std::move(name));
    }
  }
  for (const auto& [name, value] : call.call) given.insert(name);
  ops::Choices choices;
  for (const ops::Param& param : contract.params()) {
    if (param.static_presence) choices[ops::PresenceKey(param.name)] = given.contains(param.name);
    if (!param.is_static) continue;
    const auto it = call.call.find(param.name);
    TENON_CHECK(it != call.call.end() || param.fallback, "{}: {} must be given", contract.name(),
                param.name);
    choices[param.name] = it != call.call.end() ? it->second : *param.fallback;
  }
  return choices;
}

std::optional<Graph> Resolve(const Node& call) {
  const ops::Operator& op = *ops::FindOperator(call.name).op;
  return op.FindVariant(ChoicesOf(op.contract(), call)).graph;
}

// Where the unfused chain stores a value: results of calls and rounded values.
bool IsStored(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op == Op::kRound) return true;
  if (node.op == Op::kCast) return true;
  if (node.op == Op::kCall) return node.results.size() == 1;
  return node.op == Op::kResult;
}

// Stored values and inputs that `outputs` are computed from.
std::set<NodeId> Sources(const Graph& graph, const std::vector<NodeId>& outputs) {
  std::set<NodeId> sources;
  std::set<NodeId> seen;
  std::vector<NodeId> stack = outputs;
  while (!stack.empty()) {
    const NodeId id = stack.back();
    stack.pop_back();
    if (!seen.insert(id).second) continue;
    const bool start = std::find(outputs.begin(), outputs.end(), id) != outputs.end();
    if (graph.node(id).op == Op::kInput || (!start && IsStored(graph, id))) {
      sources.insert(id);
      continue;
    }
    for (const NodeId arg : graph.node(id).args) stack.push_back(arg);
  }
  return sources;
}

// Every value of `id`'s operator: all results of a call, else the node itself.
std::vector<NodeId> ValuesOf(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op != Op::kCall || node.results.size() == 1) return {id};
  std::vector<NodeId> values;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& result = graph.nodes()[i];
    if (result.op == Op::kResult && result.args[0] == id) {
      values.push_back(static_cast<NodeId>(i));
    }
  }
  std::sort(values.begin(), values.end(),
            [&](NodeId a, NodeId b) { return graph.node(a).dim < graph.node(b).dim; });
  return values;
}

// What constant sizes and attributes decide: concatenations lose their parts of size 0 (a rotation
// of the whole head has nothing after it), choices by a constant become what they choose.
Graph Specialise(const Graph& graph) {
  ir::GraphCopy copy(graph);
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    Node node = copy.Remapped(id);
    if (node.op == Op::kConcat) {
      std::erase_if(node.args, [&](NodeId arg) {
        return copy.graph().node(arg).type.axes[static_cast<size_t>(node.dim)].size == ir::Dim(0);
      });
    }
    const Node* condition = node.op == Op::kSelect ? &copy.graph().node(node.args[0]) : nullptr;
    if (condition != nullptr && condition->op == Op::kConst) {
      const NodeId chosen = node.args[condition->value != 0 ? 1 : 2];
      if (copy.graph().node(chosen).type.axes == node.type.axes) {
        copy.Set(id, chosen);
        continue;
      }
    }
    copy.Set(id, copy.Add(std::move(node)));
  }
  copy.CopyOutputs();
  return std::move(copy.graph());
}

// A step's output may be called like its input (a product of a product): they are two tensors.
Graph WithDistinctOutputs(const Graph& graph) {
  ir::GraphCopy copy(graph);
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    copy.Set(id, copy.Add(copy.Remapped(id)));
  }
  for (ir::Output output : graph.outputs()) {
    while (graph.FindInput(output.name) >= 0) output.name += "_out";
    output.value = copy[output.value];
    copy.graph().AddOutput(std::move(output));
  }
  return std::move(copy.graph());
}

bool IsMovement(Op op) { return op == Op::kSlice || op == Op::kReshape; }

}  // namespace

void FillDefaults(std::string_view op, std::map<std::string, ir::AttrValue>& attributes) {
  const ops::Contract& contract = ops::FindOperator(op).op->contract();
  for (const ops::Param& param : contract.params()) {
    if (!param.is_tensor && param.fallback) attributes.insert({param.name, *param.fallback});
  }
}

Graph InlineCalls(const Graph& body) {
  const Graph inlined = ir::Inline(body, Resolve);
  Graph flat = ir::NormalForm(Specialise(inlined));
  const auto difference = ir::FindDifference(inlined, flat);
  TENON_ASSERT(!difference, "inlining the calls of {}: {}", body.name(), difference.value_or(""));
  return flat;
}

std::vector<ChainStep> UnfusedChain(const Graph& body) {
  std::vector<ChainStep> steps;
  for (NodeId id = 0; id < static_cast<NodeId>(body.nodes().size()); ++id) {
    const Node& node = body.node(id);
    if (!(node.op == Op::kCall || (IsStored(body, id) && node.op != Op::kResult))) continue;
    ChainStep step;
    step.outputs = ValuesOf(body, id);
    const std::set<NodeId> sources = Sources(body, step.outputs);
    step.inputs.assign(sources.begin(), sources.end());
    step.name =
        node.op == Op::kCall ? node.name : std::string(ir::OpName(body.node(node.args[0]).op));
    step.graph = WithDistinctOutputs(InlineCalls(ir::ExtractSubgraph(
        body, fmt::format("{}_{}", step.name, steps.size()), step.inputs, step.outputs)));
    TENON_ASSERT(step.graph.inputs().size() == step.inputs.size(),
                 "step {} has {} inputs, expected {}", step.name, step.graph.inputs().size(),
                 step.inputs.size());
    steps.push_back(std::move(step));
  }
  return steps;
}

std::vector<ViewOutput> TakeViewOutputs(Graph& body) {
  std::vector<ViewOutput> views;
  std::vector<ir::Output> kept;
  for (const ir::Output& output : body.outputs()) {
    const Node* node = &body.node(output.value);
    std::optional<int64_t> size;
    std::optional<int64_t> offset = 0;
    int slices = 0;
    while (IsMovement(node->op)) {
      if (node->op == Op::kSlice) {
        const bool last = node->dim + 1 == static_cast<int>(node->type.axes.size());
        const auto by = node->offset.constant();
        offset = offset && by && last ? std::optional(*offset + *by) : std::nullopt;
        size = node->type.axes.back().size.constant();
        ++slices;
      }
      node = &body.node(node->args[0]);
    }
    if (node->op == Op::kInput && offset && size && slices == 1) {
      views.push_back({output.name, node->name, *offset, *size});
    } else {
      kept.push_back(output);
    }
  }
  if (views.empty()) return views;
  ir::GraphCopy copy(body);
  for (NodeId id = 0; id < static_cast<NodeId>(body.nodes().size()); ++id) {
    copy.Set(id, copy.Add(copy.Remapped(id)));
  }
  for (ir::Output output : kept) {
    output.value = copy[output.value];
    copy.graph().AddOutput(std::move(output));
  }
  body = ir::EliminateDeadNodes(copy.graph());
  return views;
}

}  // namespace tenon::fuse
