// From the calls of a body to primitive nodes, and from a body to the chain that it replaces.
#pragma once

#include <string>
#include <vector>

#include "ir/ir.h"

namespace tenon::fuse {

// Attributes of the operator's contract that the call does not give get their defaults.
void FillDefaults(std::string_view op, std::map<std::string, ir::AttrValue>& attributes);

// Calls replaced by the bodies of the registry's contracts. InternalError if that changed a value.
ir::Graph InlineCalls(const ir::Graph& body);

// One operator of the unfused chain: a call, or primitive nodes up to a rounding.
struct ChainStep {
  std::string name;
  ir::Graph graph;                  // calls inlined
  std::vector<ir::NodeId> inputs;   // nodes of the body, in the order of graph.inputs()
  std::vector<ir::NodeId> outputs;  // in the order of graph.outputs()
};

// The body as the operators that a framework would run one after the other, each storing what it
// computes (rule R makes both equal bit for bit).
std::vector<ChainStep> UnfusedChain(const ir::Graph& body);

// Outputs that only look into an input: they cost nothing and need no kernel.
struct ViewOutput {
  std::string name;
  std::string input;
  int64_t offset = 0;  // along the input's last axis
  int64_t size = 0;
};

// Removes them from `body`.
std::vector<ViewOutput> TakeViewOutputs(ir::Graph& body);

}  // namespace tenon::fuse
