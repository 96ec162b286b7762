#include "emit/cpp_body.h"

#include <map>
#include <set>
#include <vector>

#include "base/error.h"
#include "emit/cpp_values.h"
#include "emit/segments.h"

namespace tenon::emit {

using ir::Axis;
using ir::Dim;
using ir::Graph;
using ir::Node;
using ir::Op;

namespace {

struct AccumulatorWord {
  ir::ReduceKind kind;
  bool propagate_nan;
  const char* type;
};
constexpr AccumulatorWord kAccumulators[] = {
    {ir::ReduceKind::kSum, true, "SumAccumulator"},
    {ir::ReduceKind::kMean, true, "SumAccumulator"},
    {ir::ReduceKind::kMax, true, "MaxAccumulator"},
    {ir::ReduceKind::kMin, true, "MinAccumulator"},
    {ir::ReduceKind::kAmax, false, "AmaxAccumulator"},
};

class CppBody : public CppValues {
 public:
  using CppValues::CppValues;

  std::string Emit(const std::string& function) {
    std::string rows;
    for (const Nest& nest : plan_.nests) rows += EmitNest(nest);
    std::string text = fmt::format(
        "template <typename T>\n"
        "HWY_FLATTEN void {}(const RowCall& call, int64_t begin, int64_t end) {{\n",
        function);
    text += Prologue();
    if (uses_next_row_) text += "  const bool next_row = call.next_row;\n";
    text += scratch_;
    text += divisors_;
    if (uses_path_) text += "  const StorePath path(call.stream);\n";
    text += "  for (int64_t row = begin; row < end; ++row) {\n";
    text += Fetches();
    text += rows;
    text += "  }\n";
    return text + "  StreamFence(call.stream);\n}\n";
  }

 private:
  std::string EmitNest(const Nest& nest) {
    std::string text;
    std::string indent = "    ";
    for (const Axis& axis : nest.rows) {
      const std::string at = LoopVar(axis.name);
      extents_[at] = axis.size;
      text += fmt::format("{}for (int64_t {} = 0; {} < {}; ++{}) {{\n", indent, at, at,
                          Use(axis.size), at);
      indent += "  ";
    }
    outer_ = {row_terms_, "", indent};
    kept_ = row_kept_;
    pointers_.clear();
    reads_.clear();
    const Loop* last = nullptr;  // that reads rows
    int num_loops = 0;
    for (const Loop& loop : nest.loops) {
      if (loop.extent == Dim(0)) continue;
      last = &loop;
      ++num_loops;
    }
    // Short rows (heads, groups) follow each other in memory: the next one is near.
    const bool next_row = num_loops > 1 && nest.rows.empty();
    for (const Loop& loop : nest.loops) {
      const size_t earlier_reads = next_row ? 0 : reads_.size();
      inner_ = {{}, "", indent + "  "};
      pairs_.clear();
      extents_[kLaneVar] = loop.extent;
      for (const auto& [key, name] : kept_) {
        if (name.second == loop.extent) {
          inner_.terms[key] = {fmt::format("Load(chunk, {})", name.first)};
        }
      }
      outer_.lines.clear();
      LoopParts parts = EmitLoop(loop, indent);
      if (!next_row || &loop == last) parts.prefetches = Prefetches(earlier_reads, next_row);
      text += outer_.lines + LoopText(loop, indent, parts);
    }
    // What stands in no loop over middle axes is in scope in the nests that follow.
    if (nest.rows.empty()) {
      row_terms_ = outer_.terms;
      row_kept_ = kept_;
      for (const auto& [key, name] : kept_) kept_rows_[key] = name.first;
    }
    for (size_t i = nest.rows.size(); i-- > 0;) {
      indent.resize(indent.size() - 2);
      text += indent + "}\n";
    }
    return text;
  }

  // The texts of a loop. Its body is `lines`, then `tail`: nothing is loaded after a store.
  struct LoopParts {
    std::string declarations;  // before the loop
    std::string stage;         // lines of the first of two stages
    std::string quotient;      // arguments of a driver of quotients
    std::string prefetches;
    std::string tail;
    std::string after;
  };

  LoopParts EmitLoop(const Loop& loop, const std::string& indent) {
    LoopParts parts;
    std::string finishes;
    if (loop.quotient) {
      parts.stage = EmitStage(loop.quotient->dividend);
      parts.quotient = QuotientArguments(*loop.quotient, loop.stores[0]);
    } else if (loop.stage) {
      parts.stage = EmitStage(*loop.stage);
    }
    for (const Reduction& r : loop.reductions) {
      const Term argument = Get(r.argument);
      EmitReduction(r, argument.text, indent, parts.declarations, finishes, parts.tail);
    }
    std::set<const Store*> keeping;
    for (const ValueAt& keep : loop.keeps) {
      const std::string name = NewName("kept");
      if (const Store* store = StoreOf(loop, keep)) {
        keeping.insert(store);
        KeepInOutput(*store, keep, name, loop.extent, indent, parts);
        continue;
      }
      AddScratch(name, loop.extent);
      parts.tail += fmt::format("{}Store(chunk, {}, {});\n", inner_.indent, Get(keep).text, name);
      kept_[keep.key()] = {name, loop.extent};
    }
    for (const Store& store : loop.stores) {
      if (store.is_copy) {
        parts.after += CopyText(store, loop.extent, indent);
      } else if (loop.extent == Dim(0)) {
        parts.after += StoreText(store, indent);
      } else {
        const char* const when = keeping.contains(&store) ? "if (call.stream) " : "";
        parts.tail += StoreText(store, inner_.indent + when);
      }
    }
    parts.after += finishes;
    for (const Reduction& r : loop.reductions) {
      outer_.terms[r.result.key()] = {result_names_.at(r.result.key())};
    }
    return parts;
  }

  // What slices, reshapes and the like take their elements from.
  ValueAt Unmoved(ValueAt value) const {
    while (IsMovement(graph_.node(value.node).op)) value = ArgsOf(graph_, value, extents_)[0];
    return value;
  }

  // The store of the loop that writes the value as it is, one lane after the other; or null.
  const Store* StoreOf(const Loop& loop, const ValueAt& keep) {
    if (graph_.node(keep.node).type.elem != ir::Elem::Storage()) return nullptr;
    for (const Store& store : loop.stores) {
      const PlanTensor& t = plan_.tensors[store.tensor];
      if (store.is_copy || store.values.size() != 1 || t.elem != ir::Elem::Storage()) continue;
      if (Unmoved(store.values[0]).key() != keep.key()) continue;
      if (AddressOf(store.tensor, t.name, store.at, 0).lane == 1) return &store;
    }
    return nullptr;
  }

  // Declares a row of scratch, once per call: finding a thread's own takes a call itself.
  void AddScratch(const std::string& name, const Dim& extent) {
    TENON_CHECK(num_scratch_ < kFirstTableSlot, "{}: more than {} rows to keep", plan_.name,
                kFirstTableSlot);
    scratch_ +=
        fmt::format("  float* const {} = ScratchRow({}, {});\n", name, num_scratch_++, Use(extent));
  }

  // A value that is stored anyway is read again from where it is stored, unless it goes past the
  // caches: one row less in L1.
  void KeepInOutput(const Store& store, const ValueAt& keep, const std::string& name,
                    const Dim& extent, const std::string& indent, LoopParts& parts) {
    const PlanTensor& t = plan_.tensors[store.tensor];
    const Address address = AddressOf(store.tensor, t.name, store.at, 0);
    const std::string scratch = NewName("scratch");
    AddScratch(scratch, extent);
    parts.declarations +=
        fmt::format("{}T* const {} = call.stream ? reinterpret_cast<T*>({}) : {};\n", indent, name,
                    scratch, address.text);
    parts.tail += fmt::format("{}StoreExact(chunk, {}, {}, StorePath(false));\n", inner_.indent,
                              Get(keep).text, name);
    kept_[keep.key()] = {name, extent};
  }

  // The lines that compute the value; what follows finds it as `staged`, and nothing else of them.
  std::string EmitStage(const ValueAt& value) {
    const Scope before = inner_;
    const std::string result = Get(value).text;
    const std::string lines = inner_.lines + fmt::format("{}return {};\n", inner_.indent, result);
    inner_ = before;
    inner_.terms[value.key()] = {"staged"};
    return lines;
  }

  // Divisor and place of the quotients.
  std::string QuotientArguments(const Quotient& quotient, const Store& store) {
    const std::string divides =
        quotient.offset < 0 ? "false" : "has_" + plan_.tensors[quotient.offset].name;
    std::string divisor;
    if (quotient.divisor.DependsOnLane()) {
      const int param = TensorOf(graph_.node(quotient.divisor.node));
      const std::string& number = plan_.tensors[param].name;
      used_tensors_.insert(param);
      divisor = NewName(number + "_divisor");
      divisors_ +=
          fmt::format("  const Divisor {0}({1}, {1}_is_one, {2});\n", divisor, number, divides);
    } else {
      const std::string number = Get(quotient.divisor).text;
      divisor = NewName("divisor");
      outer_.lines +=
          fmt::format("{}const Divisor {}({}, {});\n", outer_.indent, divisor, number, divides);
    }
    uses_path_ = true;
    const PlanTensor& out = plan_.tensors[store.tensor];
    return fmt::format("{}, {}, path", divisor,
                       AddressOf(store.tensor, out.name, store.at, 0).text);
  }

  // One line for each read of the nest: what follows in the row, or the same place of the next row.
  // Not for tensors among the first `earlier` reads: an earlier loop has asked for them.
  std::string Prefetches(size_t earlier, bool next_row) {
    std::set<int> asked;
    for (size_t i = 0; i < earlier; ++i) asked.insert(reads_[i].tensor);
    std::string text;
    for (size_t i = earlier; i < reads_.size(); ++i) {
      const auto& [tensor, address] = reads_[i];
      if (asked.contains(tensor)) continue;
      const PlanTensor& t = plan_.tensors[tensor];
      std::string bytes = "kAheadBytes";
      std::string when = t.optional ? "if (has_" + t.name + ") " : "";
      if (next_row) {
        uses_next_row_ = true;
        when = t.optional ? "if (next_row && has_" + t.name + ") " : "if (next_row) ";
        bytes = fmt::format("NextRow<{}>({})", CppType(t.elem), Use(StrideOf(tensor, 0)));
      }
      text += fmt::format("{}{}Prefetch{}(chunk, {}, {});\n", inner_.indent, when,
                          address.lane == 2 ? "<2>" : "", address.text, bytes);
    }
    return text;
  }

  void EmitReduction(const Reduction& r, const std::string& argument, const std::string& indent,
                     std::string& declarations, std::string& finishes, std::string& tail) {
    const Node& node = graph_.node(r.result.node);
    const char* type = nullptr;
    for (const AccumulatorWord& word : kAccumulators) {
      if (word.kind == node.reduce && word.propagate_nan == node.propagate_nan) type = word.type;
    }
    TENON_CHECK(type != nullptr, "{}: the reduction '{}' {} NaN cannot be generated", plan_.name,
                ir::ReduceName(node.reduce), node.propagate_nan ? "propagating" : "ignoring");
    const std::string name = NewName(std::string(ir::ReduceName(node.reduce)));
    declarations += fmt::format("{}{} {}_acc;\n", indent, type, name);
    tail += fmt::format("{}{}_acc.Add(chunk, {});\n", inner_.indent, name, argument);
    const ir::Type& from = graph_.node(node.args[0]).type;
    const Dim& extent = from.axes[from.FindAxis(node.axis)].size;
    finishes += node.reduce == ir::ReduceKind::kMean
                    ? fmt::format(
                          "{}const VF {} = Div({}_acc.Total(), "
                          "Splat(static_cast<float>({})));\n",
                          indent, name, name, Use(extent))
                    : fmt::format("{}const VF {} = {}_acc.Total();\n", indent, name, name);
    result_names_[r.result.key()] = name;
  }

  std::string LoopText(const Loop& loop, const std::string& indent, const LoopParts& parts) {
    std::string text = parts.declarations;
    if (!parts.stage.empty()) {
      const std::string driver =
          std::string("ForEach") + (loop.stage ? "Staged" : "") + (loop.quotient ? "Quotient" : "");
      const std::string arguments = parts.quotient.empty() ? "" : ", " + parts.quotient;
      text += fmt::format(
          "{0}{6}({1}{7}, [&](auto chunk) HWY_ATTR {{\n{2}{3}{0}}}, "
          "[&](auto chunk, VF staged) HWY_ATTR {{\n{4}{5}{0}}});\n",
          indent, Use(loop.extent), parts.prefetches, parts.stage, inner_.lines, parts.tail, driver,
          arguments);
    } else if (!inner_.lines.empty() || !parts.tail.empty()) {
      text += fmt::format("{0}{1}({2}, [&](auto chunk) HWY_ATTR {{\n{3}{4}{5}{0}}});\n", indent,
                          loop.reductions.empty() ? "ForEachChunk" : "ForEachBlock",
                          Use(loop.extent), parts.prefetches, inner_.lines, parts.tail);
    }
    return text + parts.after;
  }

  // What a store takes: a value that it rounds itself, or one that the loop has rounded already.
  struct Stored {
    std::string text;
    bool is_exact = false;
  };

  Stored StoredValue(ValueAt value, const ir::Elem& elem) {
    value = Unmoved(value);
    const Node& node = graph_.node(value.node);
    const bool is_rounding = (node.op == Op::kRound || node.op == Op::kCast) &&
                             node.type.elem == elem && node.cast == ir::CastRule{};
    if (!is_rounding) return {Get(value).text};
    const bool known = inner_.terms.contains(value.key()) || outer_.terms.contains(value.key());
    if (known) return {Get(value).text, true};
    return {Get(ArgsOf(graph_, value, extents_)[0]).text};
  }

  std::string StoreText(const Store& store, const std::string& indent) {
    const PlanTensor& t = plan_.tensors[store.tensor];
    used_tensors_.insert(store.tensor);
    const Stored first = StoredValue(store.values[0], t.elem);
    const Address address = AddressOf(store.tensor, t.name, store.at, 0);
    if (address.lane == 0) {
      return fmt::format("{}StoreOne({}, {});\n", indent, first.text, address.text);
    }
    if (address.lane == 1) {
      uses_path_ = true;
      return fmt::format("{}{}(chunk, {}, {}, path);\n", indent,
                         first.is_exact ? "StoreExact" : "Store", first.text, address.text);
    }
    const Stored second = StoredValue(store.values[1], t.elem);
    return fmt::format("{}StorePairs(chunk, {}, {}, {});\n", indent, first.text, second.text,
                       address.text);
  }

  std::string CopyText(const Store& store, const Dim& lanes, const std::string& indent) {
    const PlanTensor& out = plan_.tensors[store.tensor];
    used_tensors_.insert(store.tensor);
    const ValueAt value = Unmoved(store.values[0]);
    const int source = TensorOf(graph_.node(value.node));
    used_tensors_.insert(source);
    const PlanTensor& in = plan_.tensors[source];
    const std::string to = AddressOf(store.tensor, out.name, store.at, 0).text;
    const std::string copy =
        fmt::format("CopyRow(call.stream, {}, {}, {});\n",
                    AddressOf(source, in.name, value.at, 0).text, to, Use(lanes));
    if (!in.optional) return indent + copy;
    return fmt::format(
        "{0}if (has_{1}) {{\n{0}  {2}{0}}} else {{\n{0}  FillRow({3}, {4}, {5});\n{0}}}\n", indent,
        in.name, copy, AbsentText(in), to, Use(lanes));
  }

  using Kept =
      std::map<std::string, std::pair<std::string, Dim>>;  // key -> scratch row, its extent
  Kept kept_;
  Kept row_kept_;                                    // in nests that are over, of the whole row
  std::map<std::string, std::string> result_names_;  // key of a reduction -> variable
  bool uses_path_ = false;
  bool uses_next_row_ = false;
  std::string divisors_;  // parameters by which rows are divided
  std::string scratch_;
  int num_scratch_ = 0;
  std::map<std::string, Term> row_terms_;  // of the whole row
};

std::string NameList(const RowPlan& plan, bool outputs) {
  std::string text;
  for (const PlanTensor& t : plan.tensors) {
    if (t.is_output == outputs) text += (text.empty() ? "" : ", ") + t.name;
  }
  return text;
}

std::string Header(const Graph& graph, const RowPlan& plan, const std::string& computes) {
  std::set<std::string> rounds;
  for (const Node& node : graph.nodes()) {
    if (node.op == Op::kRound || node.op == Op::kCast) rounds.insert(ir::ElemText(node.type.elem));
  }
  std::string rounding;
  for (const std::string& type : rounds) rounding += (rounding.empty() ? "" : ", ") + type;
  return fmt::format(
      "// Computes  {}\n"
      "// Traffic   reads {}, writes {}; each once per row\n"
      "// Mapping   rows of {} over threads, the last axis over vector lanes\n"
      "// Numerics  float32, sums in the order of row-inl.h; rounded to: {}\n"
      "// Limits    unit stride along the last axis\n",
      computes, NameList(plan, false), NameList(plan, true), plan.row_axis.name,
      rounding.empty() ? "nothing" : rounding);
}

}  // namespace

std::string CppFunction(const Graph& graph, const RowPlan& plan, const std::string& function,
                        const std::string& computes) {
  return Header(graph, plan, computes) + CppBody(graph, plan).Emit(function);
}

}  // namespace tenon::emit
