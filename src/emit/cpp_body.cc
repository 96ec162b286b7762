#include "emit/cpp_body.h"

#include <map>
#include <set>
#include <vector>

#include "emit/cpp_loops.h"

namespace tenon::emit {

using ir::Axis;
using ir::Dim;
using ir::Graph;
using ir::Node;
using ir::Op;

namespace {

class CppBody : public CppLoops {
 public:
  using CppLoops::CppLoops;

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
      if (nest.second_part != 0 && &axis == &nest.rows.back()) break;
      text += OpenLoop(axis, "0", Use(axis.size), indent);
    }
    outer_ = {row_terms_, "", indent};
    kept_ = row_kept_;
    pointers_.clear();
    reads_.clear();
    text += nest.second_part == 0 ? EmitLoops(nest, 0, nest.loops.size(), indent)
                                  : EmitBatches(nest, indent);
    // What stands in no loop over middle axes is in scope in the nests that follow.
    if (nest.rows.empty()) {
      row_terms_ = outer_.terms;
      row_kept_ = kept_;
      for (const auto& [key, name] : kept_) kept_rows_[key] = name.first;
    }
    while (indent.size() > 4) text += CloseLoop(indent);
    return text;
  }

  std::string OpenLoop(const Axis& axis, const std::string& first, const std::string& last,
                       std::string& indent) {
    const std::string at = LoopVar(axis.name);
    extents_[at] = axis.size;
    const std::string text =
        fmt::format("{0}for (int64_t {1} = {2}; {1} < {3}; ++{1}) {{\n", indent, at, first, last);
    indent += "  ";
    return text;
  }

  static std::string CloseLoop(std::string& indent) {
    indent.resize(indent.size() - 2);
    return indent + "}\n";
  }

  // The loops of the first part over some rows, then those of the second part over the same rows.
  std::string EmitBatches(const Nest& nest, std::string& indent) {
    const Axis& axis = nest.rows.back();
    const std::string first = NewName(axis.name + "_first");
    const std::string last = NewName(axis.name + "_last");
    bool keeps = false;
    for (size_t i = 0; i < nest.second_part; ++i) keeps = keeps || !nest.loops[i].keeps.empty();
    const std::string floats = Use(nest.loops[0].extent);
    batch_rows_ = fmt::format("RowBatch({})", floats);
    std::string text = fmt::format(
        "{0}for (int64_t {1} = 0, step = {4}; {1} < {2}; {1} += step) {{\n"
        "{0}  const int64_t {3} = HWY_MIN({1} + step, {2});\n",
        indent, first, Use(axis.size), last,
        keeps ? batch_rows_ : fmt::format("RowBatch<T>({}, call.stream)", floats));
    extents_[LoopVar(axis.name)] = axis.size;
    indent += "  ";
    batch_at_ = LoopVar(axis.name) + " - " + first;
    std::string inner = indent + "  ";
    outer_.indent = inner;
    const std::string first_part = EmitLoops(nest, 0, nest.second_part, inner);
    std::string results;
    std::string saves;
    std::string loads;
    outer_ = {row_terms_, "", inner};
    for (size_t i = 0; i < nest.second_part; ++i) {
      for (const Reduction& r : nest.loops[i].reductions) {
        const std::string& name = result_names_.at(r.result.key());
        const std::string rows = NewName(name + "_rows");
        results += fmt::format("{}float {}[kRowBatch];\n", indent, rows);
        saves += fmt::format("{}{}[{}] = hn::GetLane({});\n", inner, rows, batch_at_, name);
        loads += fmt::format("{}const VF {} = Splat({}[{}]);\n", inner, name, rows, batch_at_);
        outer_.terms[r.result.key()] = {name};
      }
    }
    pointers_.clear();
    text += results;
    text += OpenLoop(axis, first, last, indent);
    text += batch_lines_ + first_part + saves;
    text += CloseLoop(indent);
    text += OpenLoop(axis, first, last, indent);
    text += batch_lines_ + loads;
    batch_at_.clear();
    batch_lines_.clear();
    text += EmitLoops(nest, nest.second_part, nest.loops.size(), indent);
    return text + CloseLoop(indent);
  }

  // Loops [begin, end) of a nest.
  std::string EmitLoops(const Nest& nest, size_t begin, size_t end, const std::string& indent) {
    const Loop* last = nullptr;  // that reads rows
    int num_loops = 0;
    for (const Loop& loop : nest.loops) {
      if (loop.extent == Dim(0)) continue;
      last = &loop;
      ++num_loops;
    }
    // Short rows (heads, groups) follow each other in memory: the next one is near.
    const bool next_row = num_loops > 1 && nest.rows.empty();
    std::string text;
    for (size_t i = begin; i < end; ++i) {
      const Loop& loop = nest.loops[i];
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
    return text;
  }

  Kept row_kept_;                          // in nests that are over, of the whole row
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
