#include "ir/cost.h"

#include <algorithm>

#include "base/error.h"
#include "ir/op_table.h"
#include "ir/source_op.h"

namespace tenon::ir {
namespace {

bool IsViewCall(const Node& node) {
  return node.op == Op::kCall && (node.name == source_op::kView || node.name == source_op::kSplit);
}

bool IsView(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op == Op::kResult) return IsViewCall(graph.node(node.args[0]));
  return node.op == Op::kSlice || node.op == Op::kReshape || node.op == Op::kTranspose ||
         node.op == Op::kBroadcast || node.op == Op::kLimitRows || IsViewCall(node);
}

std::vector<bool> LiveNodes(const Graph& graph) {
  std::vector<bool> live(graph.nodes().size(), false);
  for (const Output& output : graph.outputs()) live[static_cast<size_t>(output.value)] = true;
  for (size_t id = live.size(); id-- > 0;) {
    if (!live[id]) continue;
    for (NodeId arg : graph.nodes()[id].args) live[static_cast<size_t>(arg)] = true;
  }
  return live;
}

// Values that a tensor input has a part in; the others are known before any kernel runs.
std::vector<bool> TensorValues(const Graph& graph) {
  std::vector<bool> tensor(graph.nodes().size(), false);
  for (size_t id = 0; id < tensor.size(); ++id) {
    const Node& node = graph.nodes()[id];
    tensor[id] = node.op == Op::kInput || node.op == Op::kCall || node.op == Op::kOpaque ||
                 std::any_of(node.args.begin(), node.args.end(),
                             [&](NodeId arg) { return tensor[static_cast<size_t>(arg)]; });
  }
  return tensor;
}

class CostModel {
 public:
  CostModel(const Graph& graph, const Workload& workload)
      : graph_(graph),
        workload_(workload),
        live_(LiveNodes(graph)),
        tensor_(TensorValues(graph)),
        elements_(graph.nodes().size(), 0),
        item_bytes_(graph.nodes().size(), 0) {
    for (NodeId id = 0; id < static_cast<NodeId>(live_.size()); ++id) {
      if (!live_[Index(id)]) continue;
      elements_[Index(id)] = CountElements(id);
      item_bytes_[Index(id)] = ItemBytes(id);
    }
  }

  // All live nodes as one kernel, and outputs that are inputs as copies.
  Cost Whole() {
    std::vector<NodeId> group;
    for (NodeId id = 0; id < static_cast<NodeId>(live_.size()); ++id) {
      if (live_[Index(id)] && RowOf(graph_.node(id).op).op_class != OpClass::kLeaf) {
        group.push_back(id);
      }
    }
    return Kernel(group, /*copies_inputs=*/true);
  }

  Cost Kernel(const std::vector<NodeId>& group, bool copies_inputs = false) {
    std::vector<int64_t> needed(live_.size(), 0);
    std::vector<bool> inside(live_.size(), false);
    for (NodeId id : group) inside[Index(id)] = live_[Index(id)] && !IsViewCall(graph_.node(id));
    for (NodeId id = 0; id < static_cast<NodeId>(live_.size()); ++id) {
      const Node& node = graph_.node(id);
      if (node.op == Op::kResult)
        inside[Index(id)] = live_[Index(id)] && inside[Index(node.args[0])];
    }
    Cost cost;
    for (NodeId root : Roots(inside)) {
      needed[Index(root)] = Elements(root);
      cost.written_bytes += StoredBytes(root);
    }
    if (copies_inputs) CopyInputs(&needed, &cost);
    for (auto id = static_cast<NodeId>(live_.size()); id-- > 0;) {
      const int64_t need = needed[Index(id)];
      if (need == 0) continue;
      if (inside[Index(id)] || IsView(graph_, id)) {
        if (inside[Index(id)]) cost.flops += Flops(id);
        PassOn(id, need, &needed);
      } else if (tensor_[Index(id)]) {
        cost.read_bytes += need * item_bytes_[Index(id)];
      }
    }
    cost.launches = cost.bytes() > 0 ? 1 : 0;
    return cost;
  }

  std::optional<Cost> Calls(const std::vector<NodeId>& calls) {
    for (NodeId id : calls) {
      if (!HasSizes(id)) return std::nullopt;
    }
    Cost cost = Kernel(calls);
    cost.launches = 0;
    for (NodeId id : calls) {
      if (IsViewCall(graph_.node(id))) continue;
      cost.launches = 1;
      cost.flops += static_cast<double>(StatedSize(id, source_op::kFlops).value_or(0));
      const auto read = StatedSize(id, source_op::kBytesRead);
      const auto written = StatedSize(id, source_op::kBytesWritten);
      if (!read || !written) continue;
      const Cost plain = Kernel({id});
      cost.read_bytes += *read - plain.read_bytes;
      cost.written_bytes += *written - plain.written_bytes;
    }
    // Two calls that each gather rows of one table: the whole table was taken off twice.
    cost.read_bytes = std::max<int64_t>(cost.read_bytes, 0);
    return cost;
  }

 private:
  static size_t Index(NodeId id) { return static_cast<size_t>(id); }

  bool HasSizes(NodeId call) const {
    const Node& node = graph_.node(call);
    const auto known = [&](const Type& type) {
      return ValueBytes(type, workload_.sizes).has_value();
    };
    return std::all_of(node.results.begin(), node.results.end(), known) &&
           std::all_of(node.args.begin(), node.args.end(),
                       [&](NodeId arg) { return known(graph_.node(arg).type); });
  }

  // What the analysis counted, as an expression of sizes.
  std::optional<int64_t> StatedSize(NodeId call, std::string_view name) const {
    const auto& attributes = graph_.node(call).call;
    const auto found = attributes.find(std::string(name));
    if (found == attributes.end()) return std::nullopt;
    return Dim(std::get<std::string>(found->second)).TryEval(workload_.sizes);
  }

  bool IsAbsent(NodeId id) const {
    const Node& node = graph_.node(id);
    return node.op == Op::kInput && workload_.absent.contains(node.name);
  }

  int64_t CountElements(NodeId id) const {
    const Node& node = graph_.node(id);
    if (IsAbsent(id)) return 0;
    // Of several results, `type` is the first alone.
    if (IsViewCall(node) && node.results.size() > 1) return elements_[Index(node.args[0])];
    return node.type.numel().TryEval(workload_.sizes).value_or(kUnknown);
  }

  // UsageError naming the size that has no value.
  int64_t Elements(NodeId id) const {
    const int64_t known = elements_[Index(id)];
    return known != kUnknown ? known : graph_.node(id).type.numel().Eval(workload_.sizes);
  }

  // W and I of inputs from the workload, elsewhere from the argument that the elements come from.
  int64_t ItemBytes(NodeId id) const {
    const Node& node = graph_.node(id);
    const Elem& elem = node.type.elem;
    if (elem.concrete()) return ItemSize(elem.dtype);
    if (elem.kind == Elem::Kind::kStorage) return ItemSize(workload_.storage);
    if (node.op == Op::kInput) {
      const auto it = workload_.params.find(node.name);
      if (it != workload_.params.end()) return ItemSize(it->second);
    }
    if (node.args.empty()) return ItemSize(elem == Elem::Param() ? DType::kF32 : DType::kI64);
    return item_bytes_[Index(node.args[node.op == Op::kSelect ? 1 : 0])];
  }

  // Nodes of the group whose values leave it: as outputs, or to a node outside, through views or
  // not.
  std::vector<NodeId> Roots(const std::vector<bool>& inside) const {
    std::vector<bool> leaves(live_.size(), false);
    for (const Output& output : graph_.outputs()) leaves[Index(output.value)] = true;
    for (auto id = static_cast<NodeId>(live_.size()); id-- > 0;) {
      const bool is_view = IsView(graph_, id);
      if (!live_[Index(id)] || inside[Index(id)] || (is_view && !leaves[Index(id)])) continue;
      for (NodeId arg : graph_.node(id).args) leaves[Index(arg)] = true;
    }
    std::vector<NodeId> roots;
    for (NodeId id = 0; id < static_cast<NodeId>(live_.size()); ++id) {
      if (inside[Index(id)] && leaves[Index(id)]) roots.push_back(id);
    }
    return roots;
  }

  // The value that rows or slices are written into, through all writes on the way.
  NodeId TargetOf(NodeId id) const {
    while (IsWrite(id) || graph_.node(id).op == Op::kLimitRows) id = graph_.node(id).args[0];
    return id;
  }

  bool IsWrite(NodeId id) const {
    return graph_.node(id).op == Op::kScatterRow || graph_.node(id).op == Op::kWriteSlice;
  }

  // True when the write happens in the memory of an input that an output overwrites.
  bool IsInPlace(NodeId id) const {
    const Node& target = graph_.node(TargetOf(id));
    return target.op == Op::kInput &&
           std::any_of(graph_.outputs().begin(), graph_.outputs().end(), [&](const Output& output) {
             return output.in_place == target.name && TargetOf(output.value) == TargetOf(id);
           });
  }

  int64_t StoredBytes(NodeId id) const {
    if (graph_.node(id).results.size() > 1) return 0;  // its kResult nodes are what is stored
    return StoredElements(id) * item_bytes_[Index(id)];
  }

  int64_t StoredElements(NodeId id) const {
    const Node& node = graph_.node(id);
    if (IsInPlace(id)) {
      if (IsWrite(id)) return StoredElements(node.args[0]) + Elements(node.args.back());
      if (node.op == Op::kLimitRows) return StoredElements(node.args[0]);
      if (node.op == Op::kInput) return 0;
    }
    return Elements(id);
  }

  void CopyInputs(std::vector<int64_t>* needed, Cost* cost) const {
    for (const Output& output : graph_.outputs()) {
      const NodeId id = output.value;
      if (graph_.node(id).op != Op::kInput || output.in_place == graph_.node(id).name) continue;
      (*needed)[Index(id)] = Elements(id);
      cost->written_bytes += Elements(id) * item_bytes_[Index(id)];
    }
  }

  // How many elements of argument i of a node are needed for `need` of its own.
  int64_t NeededOf(NodeId id, size_t i, int64_t need) const {
    const Node& node = graph_.node(id);
    const int64_t all = Elements(node.args[i]);
    if (IsElementwise(node.op)) {
      return graph_.node(node.args[i]).type.axes == node.type.axes ? need : all;
    }
    if (IsWrite(id)) return i == 0 && IsInPlace(id) ? 0 : all;
    if (node.op == Op::kGatherRow && i == 0) return need;
    const bool moves = IsMovement(node.op) && (i == 0 || node.op == Op::kConcat);
    return moves || IsView(graph_, id) ? std::min(need, all) : all;
  }

  void PassOn(NodeId id, int64_t need, std::vector<int64_t>* needed) const {
    const std::vector<NodeId>& args = graph_.node(id).args;
    for (size_t i = 0; i < args.size(); ++i) {
      int64_t& of_arg = (*needed)[Index(args[i])];
      of_arg = std::min(of_arg + NeededOf(id, i, need), Elements(args[i]));
    }
  }

  double Flops(NodeId id) const {
    const Node& node = graph_.node(id);
    if (!tensor_[Index(id)]) return 0;
    const double weight = RowOf(node.op).flops;
    if (node.op == Op::kReduce) return weight * static_cast<double>(Elements(node.args[0]));
    const auto elements = static_cast<double>(Elements(id));
    if (node.op != Op::kMatmul) return weight * elements;
    const Type& a = graph_.node(node.args[0]).type;
    const Dim& k = a.axes[static_cast<size_t>(a.FindAxis(node.axis))].size;
    return weight * elements * static_cast<double>(k.Eval(workload_.sizes));
  }

  static constexpr int64_t kUnknown = -1;

  const Graph& graph_;
  const Workload& workload_;
  std::vector<bool> live_;
  std::vector<bool> tensor_;
  std::vector<int64_t> elements_;
  std::vector<int64_t> item_bytes_;
};

}  // namespace

std::optional<int64_t> ValueBytes(const Type& type, const Bindings& sizes) {
  if (!type.elem.concrete()) return std::nullopt;
  const std::optional<int64_t> elements = type.numel().TryEval(sizes);
  return elements ? std::optional(*elements * ItemSize(type.elem.dtype)) : std::nullopt;
}

std::optional<Cost> CallsCost(const Graph& graph, const Workload& workload,
                              std::span<const NodeId> calls) {
  return CostModel(graph, workload).Calls({calls.begin(), calls.end()});
}

Cost& Cost::operator+=(const Cost& other) {
  read_bytes += other.read_bytes;
  written_bytes += other.written_bytes;
  flops += other.flops;
  launches += other.launches;
  return *this;
}

Cost FusedCost(const Graph& graph, const Workload& workload) {
  return CostModel(graph, workload).Whole();
}

std::vector<std::vector<NodeId>> EagerKernels(const Graph& graph) {
  const std::vector<bool> live = LiveNodes(graph);
  const std::vector<bool> tensor = TensorValues(graph);
  const std::vector<int> uses = graph.UseCounts();
  std::vector<std::vector<NodeId>> kernels;
  std::vector<int> kernel_of(graph.nodes().size(), -1);
  for (NodeId id = 0; id < static_cast<NodeId>(live.size()); ++id) {
    const auto index = static_cast<size_t>(id);
    const Node& node = graph.node(id);
    const bool is_kernel =
        RowOf(node.op).op_class != OpClass::kLeaf && !IsView(graph, id) && node.op != Op::kResult;
    if (!live[index] || !tensor[index] || !is_kernel) continue;
    if (node.op == Op::kRound) {
      const auto arg = static_cast<size_t>(node.args[0]);
      if (kernel_of[arg] >= 0 && uses[arg] == 1) {
        kernel_of[index] = kernel_of[arg];
        kernels[static_cast<size_t>(kernel_of[arg])].push_back(id);
        continue;
      }
    }
    kernel_of[index] = static_cast<int>(kernels.size());
    kernels.push_back({id});
  }
  return kernels;
}

Cost UnfusedCost(const Graph& graph, const Workload& workload) {
  return GroupedCost(graph, workload, {});
}

Cost GroupedCost(const Graph& graph, const Workload& workload,
                 std::span<const std::vector<NodeId>> groups) {
  CostModel model(graph, workload);
  std::set<NodeId> grouped;
  Cost cost;
  for (const std::vector<NodeId>& group : groups) {
    grouped.insert(group.begin(), group.end());
    cost += model.Kernel(group);
  }
  for (std::vector<NodeId>& kernel : EagerKernels(graph)) {
    std::erase_if(kernel, [&](NodeId id) { return grouped.contains(id); });
    if (!kernel.empty()) cost += model.Kernel(kernel);
  }
  return cost;
}

}  // namespace tenon::ir
