// Bytes and flops of a graph: what the cost model and the benchmarks divide by.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ir/ir.h"

namespace tenon::ir {

// What a graph runs on. Sizes must cover every size that a needed value has.
struct Workload {
  Bindings sizes;
  DType storage = DType::kBF16;         // T
  std::map<std::string, DType> params;  // W and I inputs; else f32 and i64
  std::set<std::string> absent;         // optional inputs that are not given
};

struct Cost {
  int64_t read_bytes = 0;
  int64_t written_bytes = 0;
  double flops = 0;  // weights per op: op_table.cc; a product counts 2 per multiplication
  int launches = 0;

  int64_t bytes() const { return read_bytes + written_bytes; }
  Cost& operator+=(const Cost& other);
};

// As one kernel: every input is read once, of what is sliced only the slices and of what is
// gathered as many rows as there are indices (at most all of it), every output written once.
// In-place outputs write the rows and slices that change; the target of a row or slice write is
// read only when it lies elsewhere.
Cost FusedCost(const Graph& graph, const Workload& workload);

// Every node as a kernel of its own, as an eager framework runs it: slices, reshapes, transposes
// and broadcasts are views; a rounding is part of the operation before it, when that has no other
// use; what depends on no tensor is done beforehand.
Cost UnfusedCost(const Graph& graph, const Workload& workload);

// Each group of nodes as one kernel, nodes in no group as in UnfusedCost.
Cost GroupedCost(const Graph& graph, const Workload& workload,
                 std::span<const std::vector<NodeId>> groups);

// The groups that UnfusedCost counts: one per kernel of an eager framework.
std::vector<std::vector<NodeId>> EagerKernels(const Graph& graph);

// These calls of a model's layer as one kernel: as FusedCost, and beyond that what each call states
// to move and to compute (source_op.h) differently from its operands and results, such as the rows
// that it gathers. With one call: as it runs today. Nothing when a size has no value.
std::optional<Cost> CallsCost(const Graph& graph, const Workload& workload,
                              std::span<const NodeId> calls);

// Nothing when the element type is open or a size has no value.
std::optional<int64_t> ValueBytes(const Type& type, const Bindings& sizes);

}  // namespace tenon::ir
