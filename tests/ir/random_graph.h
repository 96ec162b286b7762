// Random valid graphs, for properties that must hold for every graph.
#pragma once

#include <random>

#include "ir/interpreter.h"

namespace tenon::ir {

struct RandomGraph {
  Graph graph;
  Bindings sizes;
  std::map<std::string, AttrValue> attributes;
};

// Every op except calls and opaque nodes may occur, but no arithmetic on constants alone and no
// cast or round to the type that the argument has; indices are never out of range for the
// interpreter. `spans` gives some nodes a source position.
RandomGraph MakeRandomGraph(uint32_t seed, int num_nodes, bool spans = false);

}  // namespace tenon::ir
