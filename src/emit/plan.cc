#include "emit/plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "emit/batches.h"
#include "emit/index.h"
#include "emit/keeps.h"
#include "emit/quotients.h"
#include "emit/segments.h"

namespace tenon::emit {

using ir::Axis;
using ir::Dim;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;

std::string LoopVar(const std::string& axis) { return axis + "_at"; }

std::string ValueAt::key() const {
  std::string text = std::to_string(node);
  for (const Dim& index : at) text += "," + index.text();
  return text;
}

bool ValueAt::DependsOnLane() const {
  for (const Dim& index : at) {
    for (const std::string& name : index.symbols()) {
      if (name == kLaneVar) return true;
    }
  }
  return false;
}

namespace {

class Planner {
 public:
  explicit Planner(const Graph& graph) : graph_(graph) {}

  RowPlan Make() {
    TENON_CHECK(!graph_.outputs().empty(), "{}: the graph has no output", graph_.name());
    plan_.name = graph_.name();
    const std::vector<Axis>& axes = graph_.node(graph_.outputs()[0].value).type.axes;
    TENON_CHECK(!axes.empty(), "{}: output {} is a scalar; row-wise operators have a row axis",
                graph_.name(), graph_.outputs()[0].name);
    plan_.row_axis = axes[0];
    AddInputs();
    for (size_t i = 0; i < graph_.outputs().size(); ++i) AddOutput(graph_.outputs()[i]);
    FinishNests();
    AddSizes();
    return std::move(plan_);
  }

 private:
  struct NestDraft {
    std::vector<Axis> rows;
    Extents extents;  // of the loop variables, lane excepted
    std::vector<Store> stores;
    std::vector<Dim> lanes;  // extent of the lane loop of each store; 0: one value per row
  };

  bool HasRowAxis(const Node& node) const {
    return !node.type.axes.empty() && node.type.axes[0].name == plan_.row_axis.name;
  }

  void AddInputs() {
    const std::vector<int> uses = graph_.UseCounts();
    for (NodeId id : graph_.inputs()) {
      const Node& node = graph_.node(id);
      PlanTensor tensor;
      tensor.name = node.name;
      tensor.elem = node.type.elem;
      tensor.axes = node.type.axes;
      tensor.optional = node.optional;
      tensor.absent = node.value;
      tensor.role = RoleOf(id);
      TENON_CHECK(tensor.axes.size() <= cpu::kMaxRowAxes, "{}: input {} has more than {} axes",
                  graph_.name(), node.name, cpu::kMaxRowAxes);
      tensor_of_[id] = static_cast<int>(plan_.tensors.size());
      plan_.tensors.push_back(std::move(tensor));
    }
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& node = graph_.nodes()[i];
      if (node.op == Op::kAttr) plan_.scalars.push_back(node.name);
      if (node.op == Op::kGatherRow && uses[i] > 0) AddTable(node);
    }
  }

  cpu::RowRole RoleOf(NodeId id) const {
    const Node& input = graph_.node(id);
    bool is_table = input.type.elem.kind == ir::Elem::Kind::kParam && HasRowAxis(input);
    bool is_index = false;
    for (const Node& node : graph_.nodes()) {
      if (node.op != Op::kGatherRow) continue;
      is_table = is_table || node.args[0] == id;
      is_index = is_index || node.args[1] == id;
    }
    if (is_index) return cpu::RowRole::kIndex;
    if (is_table) return cpu::RowRole::kTable;
    return HasRowAxis(input) ? cpu::RowRole::kRow : cpu::RowRole::kParam;
  }

  void AddTable(const Node& gather) {
    const Node& index = graph_.node(gather.args[1]);
    TENON_CHECK(graph_.node(gather.args[0]).op == Op::kInput && index.op == Op::kInput &&
                    index.type.axes.size() <= 2 && HasRowAxis(index),
                "{}: gather_row: only rows of an input picked by an input [{}] or a column of one "
                "can be generated",
                graph_.name(), plan_.row_axis.name);
    TENON_CHECK(gather.index_rule == ir::IndexRule::kError,
                "{}: gather_row: the rule '{}' cannot be generated for rows", graph_.name(),
                ir::IndexRuleName(gather.index_rule));
    plan_.tables.push_back(
        {tensor_of_.at(gather.args[0]), tensor_of_.at(gather.args[1]), gather.index_rule});
  }

  // Largest level of the reductions that the value needs, plus one; 0 without reductions.
  int LevelOf(const ValueAt& value, const Extents& extents) {
    const std::string key = value.key();
    if (const auto it = levels_.find(key); it != levels_.end()) return it->second;
    const Node& node = graph_.node(value.node);
    int level = 0;
    if (node.op == Op::kReduce) {
      level = LevelOf(ReductionArgument(value), WithLane(extents, ReducedExtent(node))) + 1;
    } else {
      for (const ValueAt& arg : ArgsOf(graph_, value, extents)) {
        level = std::max(level, LevelOf(arg, extents));
      }
    }
    levels_[key] = level;
    return level;
  }

  const Dim& ReducedExtent(const Node& node) const {
    const ir::Type& type = graph_.node(node.args[0]).type;
    return type.axes[type.FindAxis(node.axis)].size;
  }

  ValueAt ReductionArgument(const ValueAt& result) const {
    const Node& node = graph_.node(result.node);
    TENON_CHECK(!result.DependsOnLane(),
                "{}: the result of the reduction over {} varies within the vector lanes of its "
                "use; only rows of the last axis can be reduced",
                graph_.name(), node.axis);
    ValueAt argument{node.args[0], result.at};
    const int position = graph_.node(node.args[0]).type.FindAxis(node.axis);
    argument.at.insert(argument.at.begin() + position, Dim(kLaneVar));
    return argument;
  }

  void AddOutput(const ir::Output& output) {
    const Node& node = graph_.node(output.value);
    TENON_CHECK(HasRowAxis(node) && node.type.axes[0] == plan_.row_axis,
                "{}: output {} must have the row axis {} first, it is {}", graph_.name(),
                output.name, plan_.row_axis.name, ir::TypeText(node.type));
    TENON_CHECK(output.strides.empty(), "{}: output {}: strides with padding cannot be generated",
                graph_.name(), output.name);
    PlanTensor tensor;
    tensor.name = output.name;
    tensor.is_output = true;
    tensor.elem = node.type.elem;
    tensor.axes = node.type.axes;
    tensor.in_place_of = output.in_place;
    plan_.tensors.push_back(tensor);
    const int index = static_cast<int>(plan_.tensors.size()) - 1;

    AddStores(output.value, index, {}, output.in_place);
  }

  // `offsets` are where the value lies in the output, by axis. What is written into an input that
  // the output overwrites in place is stored part by part.
  void AddStores(NodeId id, int tensor, const std::map<int, Dim>& offsets,
                 const std::string& in_place) {
    const Node& node = graph_.node(id);
    if (node.op == Op::kWriteSlice) {
      const Node& target = graph_.node(node.args[0]);
      const bool is_under = target.op == Op::kInput && target.name == in_place;
      TENON_CHECK(is_under || target.op == Op::kWriteSlice,
                  "{}: write_slice: only parts of an input that is overwritten in place can be "
                  "generated",
                  graph_.name());
      if (!is_under) AddStores(node.args[0], tensor, offsets, in_place);
      std::map<int, Dim> inner = offsets;
      inner[node.dim] = inner[node.dim] + node.offset;
      AddStores(node.args[1], tensor, inner, in_place);
      return;
    }
    const OutputLoops loops = LoopsOfOutput(graph_, id, plan_.row_axis.name);
    Extents extents{{kRowVar, plan_.row_axis.size}};
    for (const Axis& axis : loops.rows) extents[LoopVar(axis.name)] = axis.size;
    NestDraft& draft = DraftFor(loops.rows, extents);
    for (const OutputSegment& segment : loops.segments) {
      Store store;
      store.tensor = tensor;
      store.at = segment.at;
      for (const auto& [axis, offset] : offsets) store.at[axis] = store.at[axis] + offset;
      for (const std::vector<Dim>& at : segment.values_at) store.values.push_back({id, at});
      store.is_copy = IsCopy(store, WithLane(extents, segment.lanes));
      draft.stores.push_back(std::move(store));
      draft.lanes.push_back(segment.lanes);
    }
  }

  // True when movement alone leads to an input's row of the same element type, lane by lane.
  bool IsCopy(const Store& store, const Extents& extents) const {
    if (store.values.size() != 1 || !store.values[0].DependsOnLane()) return false;
    ValueAt value = store.values[0];
    while (IsMovement(graph_.node(value.node).op)) {
      value = ArgsOf(graph_, value, extents)[0];
    }
    const Node& source = graph_.node(value.node);
    const auto last = value.at.empty() ? std::nullopt : value.at.back().LinearIn(kLaneVar);
    return source.op == Op::kInput && HasRowAxis(source) && last && last->first == 1 &&
           tensor_of_.contains(value.node) &&
           plan_.tensors[tensor_of_.at(value.node)].role == cpu::RowRole::kRow;
  }

  NestDraft& DraftFor(const std::vector<Axis>& rows, const Extents& extents) {
    for (NestDraft& draft : drafts_) {
      if (draft.rows == rows) return draft;
    }
    drafts_.push_back({rows, extents, {}, {}});
    return drafts_.back();
  }

  // ---- loops of one nest

  Loop& LoopFor(std::vector<Loop>& loops, int level, const Dim& extent) {
    for (Loop& loop : loops) {
      if (loop.level == level && loop.extent == extent) return loop;
    }
    loops.push_back({});
    loops.back().level = level;
    loops.back().extent = extent;
    return loops.back();
  }

  // True when the value varies over the middle axes of a nest.
  static bool VariesIn(const std::vector<Axis>& rows, const ValueAt& value) {
    for (const Dim& index : value.at) {
      for (const std::string& symbol : index.symbols()) {
        for (const Axis& axis : rows) {
          if (symbol == LoopVar(axis.name)) return true;
        }
      }
    }
    return false;
  }

  // A reduction that does not vary over the nest's middle axes is one of the whole row: it goes to
  // `row_loops_`, which come before every nest.
  void CollectReductions(const ValueAt& value, const Extents& extents,
                         const std::vector<Axis>& rows, std::vector<Loop>& loops,
                         std::set<std::string>& seen) {
    if (row_reductions_.contains(value.key())) return;
    if (!seen.insert(value.key()).second) return;
    const Node& node = graph_.node(value.node);
    if (node.op != Op::kReduce) {
      for (const ValueAt& arg : ArgsOf(graph_, value, extents)) {
        CollectReductions(arg, extents, rows, loops, seen);
      }
      return;
    }
    TENON_CHECK(node.reduce != ir::ReduceKind::kArgmax, "{}: argmax cannot be generated",
                graph_.name());
    const ValueAt argument = ReductionArgument(value);
    const Extents inner = WithLane(extents, ReducedExtent(node));
    CollectReductions(argument, inner, rows, loops, seen);
    const bool whole_row = !rows.empty() && !VariesIn(rows, value);
    if (whole_row) row_reductions_.insert(value.key());
    LoopFor(whole_row ? row_loops_ : loops, LevelOf(argument, inner), ReducedExtent(node))
        .reductions.push_back({value, argument});
  }

  // In the order of the outputs, but the nest without middle axes comes first when it has the
  // reductions that others read.
  void FinishNests() {
    const auto has_rows = [](const NestDraft& draft) { return !draft.rows.empty(); };
    std::vector<Nest> nests(drafts_.size());
    for (size_t i = 0; i < drafts_.size(); ++i) {
      if (!has_rows(drafts_[i])) continue;
      nests[i] = FinishNest(drafts_[i], {});
      for (const Loop& loop : nests[i].loops) HoistFrom(loop, drafts_[i]);
    }
    if (!row_loops_.empty() && std::all_of(drafts_.begin(), drafts_.end(), has_rows)) {
      drafts_.push_back({{}, {{kRowVar, plan_.row_axis.size}}, {}, {}});
      nests.emplace_back();
    }
    const bool first = !row_loops_.empty();
    for (size_t i = 0; i < drafts_.size(); ++i) {
      if (has_rows(drafts_[i])) continue;
      nests[i] = FinishNest(drafts_[i], std::move(row_loops_));
      if (first) std::rotate(nests.begin(), nests.begin() + i, nests.begin() + i + 1);
      break;  // drafts have different axes
    }
    KeepWholeRows(nests);
    plan_.nests = std::move(nests);
  }

  // Nests read from the rows of the first nest what is dear to compute again.
  void KeepWholeRows(std::vector<Nest>& nests) {
    if (!nests[0].rows.empty()) return;
    for (size_t i = 1; i < nests.size(); ++i) {
      const auto draft = std::find_if(drafts_.begin(), drafts_.end(),
                                      [&](const NestDraft& d) { return d.rows == nests[i].rows; });
      ChooseRowKeeps(graph_, {{kRowVar, plan_.row_axis.size}}, nests[0], draft->extents, nests[i]);
    }
  }

  // Values that do not vary over the nest's middle axes and take long: computed once per row and
  // kept for the nest.
  void HoistFrom(const Loop& loop, const NestDraft& draft) {
    if (loop.extent == Dim(0)) return;
    const Extents extents = WithLane(draft.extents, loop.extent);
    std::set<std::string> seen;
    for (const Reduction& r : loop.reductions) {
      Hoist(r.argument, draft.rows, extents, loop.extent, seen);
    }
    for (const Store& store : loop.stores) {
      if (store.is_copy) continue;
      for (const ValueAt& value : store.values) {
        Hoist(value, draft.rows, extents, loop.extent, seen);
      }
    }
  }

  void Hoist(const ValueAt& value, const std::vector<Axis>& rows, const Extents& extents,
             const Dim& lanes, std::set<std::string>& seen) {
    if (!value.DependsOnLane() || !seen.insert(value.key()).second) return;
    const bool moves = IsMovement(graph_.node(value.node).op);
    if (!moves && !VariesIn(rows, value) && IsWorthKeeping(graph_, value, extents)) {
      std::vector<ValueAt>& keeps = LoopFor(row_loops_, LevelOf(value, extents), lanes).keeps;
      const auto same = [&](const ValueAt& kept) { return kept.key() == value.key(); };
      if (std::none_of(keeps.begin(), keeps.end(), same)) keeps.push_back(value);
      return;
    }
    for (const ValueAt& arg : ArgsOf(graph_, value, extents)) {
      Hoist(arg, rows, extents, lanes, seen);
    }
  }

  Nest FinishNest(NestDraft& draft, std::vector<Loop> loops) {
    Nest nest;
    nest.rows = draft.rows;
    nest.loops = std::move(loops);
    std::set<std::string> seen;
    for (size_t i = 0; i < draft.stores.size(); ++i) {
      const Extents extents = WithLane(draft.extents, draft.lanes[i]);
      int level = 0;
      for (const ValueAt& value : draft.stores[i].values) {
        CollectReductions(value, extents, draft.rows, nest.loops, seen);
        level = std::max(level, LevelOf(value, extents));
      }
      LoopFor(nest.loops, level, draft.lanes[i]).stores.push_back(std::move(draft.stores[i]));
    }
    std::stable_sort(nest.loops.begin(), nest.loops.end(),
                     [](const Loop& a, const Loop& b) { return a.level < b.level; });
    ChooseKeeps(graph_, plan_.tensors, draft.extents, nest);
    ChooseStages(graph_, draft.extents, nest);
    ChooseBatch(nest);
    ChooseQuotients(graph_, draft.extents, plan_.tensors, nest);
    return nest;
  }

  void AddSizes() {
    std::set<std::string> names;
    for (const Node& node : graph_.nodes()) {
      for (const Axis& axis : node.type.axes) {
        if (axis == plan_.row_axis) continue;
        for (const std::string& name : axis.size.symbols()) names.insert(name);
      }
      for (const std::string& name : node.offset.symbols()) names.insert(name);
    }
    for (const std::string& name : names) {
      TENON_CHECK(name != kRowVar && name != kLaneVar, "{}: a size must not be called '{}'",
                  graph_.name(), name);
    }
    plan_.sizes.assign(names.begin(), names.end());
  }

  const Graph& graph_;
  RowPlan plan_;
  std::map<NodeId, int> tensor_of_;
  std::map<std::string, int> levels_;
  std::vector<NestDraft> drafts_;
  std::vector<Loop> row_loops_;           // reductions of whole rows that nests with rows need
  std::set<std::string> row_reductions_;  // their keys
};

}  // namespace

RowPlan MakeRowPlan(const Graph& graph) { return Planner(graph).Make(); }

}  // namespace tenon::emit
