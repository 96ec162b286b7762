#include "emit/keeps.h"

#include <optional>
#include <set>

#include "emit/segments.h"

namespace tenon::emit {

using ir::Dim;
using ir::Graph;
using ir::Node;
using ir::Op;

Extents WithLane(Extents extents, const Dim& lanes) {
  extents[kLaneVar] = lanes;
  return extents;
}

namespace {

// Keeping a value costs a store now and a load later, both in L1; computing it again costs its
// arithmetic from the loads on. Units: one vector instruction. Two loads with conversion and an
// addition (5) are computed again; a rounding or a division among them makes keeping cheaper.
constexpr int kKeepCost = 6;

// What has to be computed before a value, and after it, to make two stages of a loop.
constexpr int kFirstStageCost = 24;
constexpr int kSecondStageCost = 12;

int Cost(const Node& node) {
  switch (node.op) {
    case Op::kInput:
      return node.type.elem.concrete() && node.type.elem.dtype == DType::kF32 ? 1 : 2;
    case Op::kDiv:
    case Op::kSqrt:
      return 8;
    case Op::kRsqrt:
    case Op::kExp:
    case Op::kLog:
      return 12;
    case Op::kSigmoid:
    case Op::kTanh:
    case Op::kErf:
    case Op::kSin:
    case Op::kCos:
      return 20;
    case Op::kRound:
    case Op::kCast:
      return 4;
    case Op::kMin:
    case Op::kMax:
      return 2;
    case Op::kAttr:
    case Op::kConst:
    case Op::kPresent:
      return 0;
    default:
      return IsMovement(node.op) || node.op == Op::kGatherRow ? 0 : 1;
  }
}

class Keeper {
 public:
  Keeper(const Graph& graph, const std::vector<PlanTensor>& tensors)
      : graph_(graph), tensors_(tensors) {}

  bool IsDear(const ValueAt& value, const Extents& extents) const {
    std::set<std::string> counted;
    return TotalCost(value, extents, counted) >= kKeepCost;
  }

  void Choose(Nest& nest, const Extents& extents) const {
    for (size_t later = 1; later < nest.loops.size(); ++later) {
      if (nest.loops[later].extent == Dim(0)) continue;
      const Extents inner = WithLane(extents, nest.loops[later].extent);
      std::set<std::string> seen;
      for (const ValueAt& value : ValuesOf(nest.loops[later])) {
        KeepFrontier(value, inner, nest.loops, later, seen);
      }
    }
  }

  void ChooseForNest(Nest& rows, const Extents& row_extents, const Nest& nest,
                     const Extents& extents) const {
    for (const Loop& loop : nest.loops) {
      if (loop.extent == Dim(0)) continue;
      const Extents inner = WithLane(extents, loop.extent);
      std::set<std::string> seen;
      for (const ValueAt& value : ValuesOf(loop)) {
        KeepWholeRows(value, inner, rows.loops, row_extents, seen);
      }
    }
  }

  void ChooseStages(Nest& nest, const Extents& extents) const {
    std::set<std::string> kept;
    for (Loop& loop : nest.loops) {
      const bool one_value = loop.reductions.empty() && loop.keeps.empty() &&
                             loop.stores.size() == 1 && !loop.stores[0].is_copy &&
                             loop.stores[0].values.size() == 1;
      if (one_value && !(loop.extent == Dim(0))) loop.stage = StageOf(loop, extents, kept);
      for (const ValueAt& keep : loop.keeps) kept.insert(keep.key());
    }
  }

 private:
  // The last value rounded to storage with enough arithmetic before and behind it.
  std::optional<ValueAt> StageOf(const Loop& loop, const Extents& outer,
                                 const std::set<std::string>& kept) const {
    const Extents extents = WithLane(outer, loop.extent);
    std::set<std::string> counted = kept;
    const int total = TotalCost(loop.stores[0].values[0], extents, counted);
    std::optional<ValueAt> stage;
    for (const ValueAt& value : LaneValues(loop, outer)) {
      if (graph_.node(value.node).op != Op::kRound) continue;
      counted = kept;
      const int before = TotalCost(value, extents, counted);
      if (before >= kFirstStageCost && total - before >= kSecondStageCost) stage = value;
    }
    return stage;
  }

  // What a loop is for.
  static std::vector<ValueAt> ValuesOf(const Loop& loop) {
    std::vector<ValueAt> values;
    for (const Reduction& r : loop.reductions) values.push_back(r.argument);
    for (const Store& s : loop.stores) {
      if (!s.is_copy) values.insert(values.end(), s.values.begin(), s.values.end());
    }
    return values;
  }

  void KeepWholeRows(const ValueAt& value, const Extents& extents, std::vector<Loop>& row_loops,
                     const Extents& row_extents, std::set<std::string>& seen) const {
    if (!value.DependsOnLane() || !seen.insert(value.key()).second) return;
    const auto whole = WholeRowOf(value);
    for (size_t i = 0; whole && i < row_loops.size(); ++i) {
      if (IsMovement(graph_.node(value.node).op) || row_loops[i].extent == Dim(0)) continue;
      std::set<std::string> counted;
      if (Computes(row_loops[i], whole->first, WithLane(row_extents, row_loops[i].extent)) &&
          TotalCost(value, extents, counted) >= kKeepCost) {
        AddKeep(row_loops, i, row_loops.size(), whole->first);
        return;
      }
    }
    for (const ValueAt& arg : ArgsOf(graph_, value, extents)) {
      KeepWholeRows(arg, extents, row_loops, row_extents, seen);
    }
  }

  // Values of a loop that depend on the lane, in order of first need, arguments first.
  void LaneValues(const ValueAt& value, const Extents& extents, std::vector<ValueAt>& order,
                  std::set<std::string>& seen) const {
    if (!value.DependsOnLane() || !seen.insert(value.key()).second) return;
    for (const ValueAt& arg : ArgsOf(graph_, value, extents)) {
      LaneValues(arg, extents, order, seen);
    }
    order.push_back(value);
  }

  std::vector<ValueAt> LaneValues(const Loop& loop, const Extents& outer) const {
    const Extents extents = WithLane(outer, loop.extent);
    std::vector<ValueAt> order;
    std::set<std::string> seen;
    for (const ValueAt& value : ValuesOf(loop)) LaneValues(value, extents, order, seen);
    return order;
  }

  // Arithmetic that a value takes from its loads on.
  int TotalCost(const ValueAt& value, const Extents& extents, std::set<std::string>& seen) const {
    if (!value.DependsOnLane() || !seen.insert(value.key()).second) return 0;
    int cost = Cost(graph_.node(value.node));
    for (const ValueAt& arg : ArgsOf(graph_, value, extents)) {
      cost += TotalCost(arg, extents, seen);
    }
    return cost;
  }

  void KeepFrontier(const ValueAt& value, const Extents& extents, std::vector<Loop>& loops,
                    size_t later, std::set<std::string>& seen) const {
    if (!value.DependsOnLane() || !seen.insert(value.key()).second) return;
    const Op op = graph_.node(value.node).op;
    for (size_t i = 0; i < later && !IsMovement(op); ++i) {
      if (!(loops[i].extent == loops[later].extent) || !Computes(loops[i], value, extents))
        continue;
      std::set<std::string> counted;
      if (TotalCost(value, extents, counted) >= kKeepCost ||
          ReadsOverwritten(value, extents, loops, i)) {
        AddKeep(loops, i, later, value);
        return;
      }
    }
    for (const ValueAt& arg : ArgsOf(graph_, value, extents)) {
      KeepFrontier(arg, extents, loops, later, seen);
    }
  }

  bool Computes(const Loop& loop, const ValueAt& value, const Extents& extents) const {
    for (const ValueAt& computed : LaneValues(loop, extents)) {
      if (computed.key() == value.key()) return true;
    }
    return false;
  }

  static void AddKeep(std::vector<Loop>& loops, size_t from, size_t later, const ValueAt& value) {
    // The earliest loop that keeps it serves all later ones.
    for (size_t i = 0; i < later; ++i) {
      for (const ValueAt& kept : loops[i].keeps) {
        if (kept.key() == value.key()) return;
      }
    }
    loops[from].keeps.push_back(value);
  }

  // True when the value loads an input whose memory an output stored in loop `i` may share.
  bool ReadsOverwritten(const ValueAt& value, const Extents& extents,
                        const std::vector<Loop>& loops, size_t i) const {
    const Node& node = graph_.node(value.node);
    if (node.op == Op::kInput) {
      for (const Store& store : loops[i].stores) {
        if (tensors_[store.tensor].in_place_of == node.name) return true;
      }
      return false;
    }
    for (const ValueAt& arg : ArgsOf(graph_, value, extents)) {
      if (arg.DependsOnLane() && ReadsOverwritten(arg, extents, loops, i)) return true;
    }
    return false;
  }

  const Graph& graph_;
  const std::vector<PlanTensor>& tensors_;
};

}  // namespace

bool IsWorthKeeping(const Graph& graph, const ValueAt& value, const Extents& extents) {
  const std::vector<PlanTensor> none;  // what is stored in between does not matter here
  return Keeper(graph, none).IsDear(value, extents);
}

void ChooseKeeps(const Graph& graph, const std::vector<PlanTensor>& tensors, const Extents& extents,
                 Nest& nest) {
  Keeper(graph, tensors).Choose(nest, extents);
}

void ChooseRowKeeps(const Graph& graph, const Extents& row_extents, Nest& rows,
                    const Extents& extents, const Nest& nest) {
  const std::vector<PlanTensor> none;
  Keeper(graph, none).ChooseForNest(rows, row_extents, nest, extents);
}

std::optional<std::pair<ValueAt, Dim>> WholeRowOf(const ValueAt& value) {
  if (value.at.size() != 2 || !(value.at[0] == Dim(kRowVar))) return std::nullopt;
  const auto linear = value.at[1].LinearIn(kLaneVar);
  if (!linear || linear->first != 1) return std::nullopt;
  return std::pair{ValueAt{value.node, {value.at[0], Dim(kLaneVar)}}, linear->second};
}

void ChooseStages(const Graph& graph, const Extents& extents, Nest& nest) {
  const std::vector<PlanTensor> none;
  Keeper(graph, none).ChooseStages(nest, extents);
}

}  // namespace tenon::emit
