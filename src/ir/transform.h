// Graphs made from graphs. Nothing here changes what a graph computes, except that types and sizes
// become more definite.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "ir/ir.h"

namespace tenon::ir {

// Replaces T by `storage`, and W and I of the inputs by what `params` says for the input's name: W
// is f32 and I is i64 where it says nothing.
Graph BindStorage(const Graph& graph, DType storage, const std::map<std::string, DType>& params);

// Replaces size names in axes, offsets, strides and results' types. Axes keep their names.
Graph SubstituteSizes(const Graph& graph, const std::map<std::string, Dim>& sizes);

// Without the nodes that no output needs. Inputs stay: they are the graph's interface.
Graph EliminateDeadNodes(const Graph& graph);

// The live nodes in an order that depends on the structure alone: inputs, then what each output
// needs, arguments first.
Graph Renumber(const Graph& graph);

// The body of a called operator, or nothing to keep the call.
using CallResolver = std::function<std::optional<Graph>(const Node& call)>;

// The call attribute that says which inputs of the body the arguments are, as names with commas
// between ("x,weight,bias"). Without it they are the first ones in order of declaration.
inline constexpr std::string_view kCallArgs = "args";

// Replaces calls by bodies, calls inside of those too. The body's sizes are solved from the
// arguments' types, or given by integer attributes of the call; its T is the element type of its
// T arguments; its attributes become constants, and optional inputs without an argument their
// absent value. Rows of an argument with more leading axes than the body's input are merged.
Graph Inline(const Graph& caller, const CallResolver& resolver);

// The nodes between `inputs` and `outputs` as a graph of their own. Values in `inputs` become
// inputs named after the input, output or operation that they are in `graph`; attributes, constants
// and inputs of `graph` that the outputs need besides come along.
Graph ExtractSubgraph(const Graph& graph, std::string name, std::span<const NodeId> inputs,
                      std::span<const NodeId> outputs);

// A readable name for a value: that of the input or output it is, else of its operation.
std::string ValueName(const Graph& graph, NodeId id);

// Copies nodes of a graph into a new one, types inferred anew.
class GraphCopy {
 public:
  explicit GraphCopy(const Graph& source)
      : source_(source), ids_(source.nodes().size(), -1), graph_(source.name()) {}

  bool Has(NodeId old) const { return ids_[static_cast<size_t>(old)] >= 0; }
  NodeId operator[](NodeId old) const;
  void Set(NodeId old, NodeId id) { ids_[static_cast<size_t>(old)] = id; }
  // A node of the source with its arguments replaced by their copies.
  Node Remapped(NodeId old) const;
  // Infers the type and adds; `node`'s arguments are ids of the new graph.
  NodeId Add(Node node);
  void CopyOutputs();  // those of the source

  Graph& graph() { return graph_; }

 private:
  const Graph& source_;
  std::vector<NodeId> ids_;
  Graph graph_;
};

}  // namespace tenon::ir
