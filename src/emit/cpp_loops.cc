#include "emit/cpp_loops.h"

#include <set>

#include "base/error.h"
#include "emit/segments.h"

namespace tenon::emit {

using ir::Dim;
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

}  // namespace

CppLoops::LoopParts CppLoops::EmitLoop(const Loop& loop, const std::string& indent) {
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
    const Store* const store = batch_at_.empty() ? StoreOf(loop, keep) : nullptr;
    if (store != nullptr) {
      keeping.insert(store);
      KeepInOutput(*store, keep, name, loop.extent, indent, parts);
      continue;
    }
    if (batch_at_.empty()) {
      AddScratch(name, Use(loop.extent));
    } else {
      const std::string rows = NewName(name + "_rows");
      AddScratch(rows, fmt::format("{} * ({})", batch_rows_, Use(loop.extent)));
      batch_lines_ += fmt::format("{}float* const {} = {} + ({}) * ({});\n", indent, name, rows,
                                  batch_at_, Use(loop.extent));
    }
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
ValueAt CppLoops::Unmoved(ValueAt value) const {
  while (IsMovement(graph_.node(value.node).op)) value = ArgsOf(graph_, value, extents_)[0];
  return value;
}

// The store of the loop that writes the value as it is, one lane after the other; or null.
const Store* CppLoops::StoreOf(const Loop& loop, const ValueAt& keep) {
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
void CppLoops::AddScratch(const std::string& name, const std::string& floats) {
  TENON_CHECK(num_scratch_ < kFirstTableSlot, "{}: more than {} rows to keep", plan_.name,
              kFirstTableSlot);
  scratch_ +=
      fmt::format("  float* const {} = ScratchRow({}, {});\n", name, num_scratch_++, floats);
}

// A value that is stored anyway is read again from where it is stored, unless it goes past the
// caches: one row less in L1.
void CppLoops::KeepInOutput(const Store& store, const ValueAt& keep, const std::string& name,
                            const Dim& extent, const std::string& indent, LoopParts& parts) {
  const PlanTensor& t = plan_.tensors[store.tensor];
  const Address address = AddressOf(store.tensor, t.name, store.at, 0);
  const std::string scratch = NewName("scratch");
  AddScratch(scratch, Use(extent));
  parts.declarations +=
      fmt::format("{}T* const {} = call.stream ? reinterpret_cast<T*>({}) : {};\n", indent, name,
                  scratch, address.text);
  parts.tail += fmt::format("{}StoreExact(chunk, {}, {}, StorePath(false));\n", inner_.indent,
                            Get(keep).text, name);
  kept_[keep.key()] = {name, extent};
}

// The lines that compute the value; what follows finds it as `staged`, and nothing else of them.
std::string CppLoops::EmitStage(const ValueAt& value) {
  const Scope before = inner_;
  const std::string result = Get(value).text;
  const std::string lines = inner_.lines + fmt::format("{}return {};\n", inner_.indent, result);
  inner_ = before;
  inner_.terms[value.key()] = {"staged"};
  return lines;
}

// Divisor and place of the quotients.
std::string CppLoops::QuotientArguments(const Quotient& quotient, const Store& store) {
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
  return fmt::format("{}, {}, path", divisor, AddressOf(store.tensor, out.name, store.at, 0).text);
}

// One line for each read of the nest: what follows in the row, or the same place of the next row.
// Not for tensors among the first `earlier` reads: an earlier loop has asked for them.
std::string CppLoops::Prefetches(size_t earlier, bool next_row) {
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

void CppLoops::EmitReduction(const Reduction& r, const std::string& argument,
                             const std::string& indent, std::string& declarations,
                             std::string& finishes, std::string& tail) {
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

std::string CppLoops::LoopText(const Loop& loop, const std::string& indent,
                               const LoopParts& parts) {
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
                        loop.reductions.empty() ? "ForEachChunk" : "ForEachBlock", Use(loop.extent),
                        parts.prefetches, inner_.lines, parts.tail);
  }
  return text + parts.after;
}

CppLoops::Stored CppLoops::StoredValue(ValueAt value, const ir::Elem& elem) {
  value = Unmoved(value);
  const Node& node = graph_.node(value.node);
  const bool is_rounding = (node.op == Op::kRound || node.op == Op::kCast) &&
                           node.type.elem == elem && node.cast == ir::CastRule{};
  if (!is_rounding) return {Get(value).text};
  const bool known = inner_.terms.contains(value.key()) || outer_.terms.contains(value.key());
  if (known) return {Get(value).text, true};
  return {Get(ArgsOf(graph_, value, extents_)[0]).text};
}

std::string CppLoops::StoreText(const Store& store, const std::string& indent) {
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

std::string CppLoops::CopyText(const Store& store, const Dim& lanes, const std::string& indent) {
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

}  // namespace tenon::emit
