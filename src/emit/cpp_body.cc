#include "emit/cpp_body.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "emit/index.h"
#include "emit/segments.h"

namespace tenon::emit {

using cpu::RowRole;
using ir::Axis;
using ir::Dim;
using ir::Graph;
using ir::Node;
using ir::Op;

namespace {

// How each element-wise op is spelled: an operator of Highway's vectors, or a function of Highway
// or backend/cpu/math-inl.h. Ops that need more than their arguments are handled in
// CppBody::Compute.
struct OpWord {
  Op op;
  const char* function;
};
constexpr OpWord kOpWords[] = {
    {Op::kAdd, "+"},           {Op::kSub, "-"},           {Op::kMul, "*"},
    {Op::kDiv, "/"},           {Op::kFma, "hn::MulAdd"},  {Op::kNeg, "hn::Neg"},
    {Op::kAbs, "hn::Abs"},     {Op::kSqrt, "hn::Sqrt"},   {Op::kRsqrt, "Rsqrt"},
    {Op::kExp, "Exp"},         {Op::kLog, "Log"},         {Op::kSin, "Sin"},
    {Op::kCos, "Cos"},         {Op::kTanh, "Tanh"},       {Op::kErf, "Erf"},
    {Op::kSigmoid, "Sigmoid"}, {Op::kFloor, "hn::Floor"}, {Op::kRoundInt, "hn::Round"},
    {Op::kMin, "Minimum"},     {Op::kMax, "Maximum"},     {Op::kLt, "hn::Lt"},
    {Op::kLe, "hn::Le"},       {Op::kEq, "hn::Eq"},       {Op::kNe, "hn::Ne"},
    {Op::kAnd, "hn::And"},     {Op::kOr, "hn::Or"},       {Op::kNot, "hn::Not"},
};

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

std::string FloatLiteral(double value) {
  const float f = static_cast<float>(value);
  if (std::isinf(f)) {
    return fmt::format("{}std::numeric_limits<float>::infinity()", f < 0 ? "-" : "");
  }
  if (std::isnan(f)) return "std::numeric_limits<float>::quiet_NaN()";
  std::string text = fmt::format("{}", f);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "f";
}

std::string CppType(const ir::Elem& elem) {
  if (elem.kind == ir::Elem::Kind::kStorage) return "T";
  TENON_CHECK(elem.concrete(), "element type {} cannot be generated here", ir::ElemText(elem));
  return VisitDtype(elem.dtype, [](auto tag) -> std::string {
    using E = typename decltype(tag)::type;
    if constexpr (std::is_same_v<E, float>) return "float";
    if constexpr (std::is_same_v<E, F16>) return "F16";
    if constexpr (std::is_same_v<E, BF16>) return "BF16";
    if constexpr (std::is_same_v<E, F8E4M3>) return "F8E4M3";
    if constexpr (std::is_same_v<E, int8_t>) return "int8_t";
    throw UsageError("integers wider than 8 bits cannot be generated as rows");
  });
}

// A size expression in C++.
std::string CppDim(const Dim& dim) {
  std::string text = dim.text();
  for (size_t at = 0; (at = text.find("//", at)) != std::string::npos;) text.replace(at, 2, "/");
  for (size_t at = 0; (at = text.find("ceil(", at)) != std::string::npos; at += 8) {
    text.replace(at, 5, "CeilDiv(");
  }
  return text;
}

class CppBody {
 public:
  CppBody(const Graph& graph, const RowPlan& plan) : graph_(graph), plan_(plan) {
    for (size_t i = 0; i < plan.tensors.size(); ++i) {
      if (!plan.tensors[i].is_output) tensor_index_[plan.tensors[i].name] = static_cast<int>(i);
    }
    extents_[kRowVar] = plan.row_axis.size;
  }

  std::string Emit(const std::string& function) {
    std::string rows;
    for (const Nest& nest : plan_.nests) rows += EmitNest(nest);
    std::string text = fmt::format(
        "template <typename T>\n"
        "HWY_FLATTEN void {}(const RowCall& call, int64_t begin, int64_t end) {{\n",
        function);
    text += Prologue();
    text += "  for (int64_t row = begin; row < end; ++row) {\n";
    text += Fetches();
    text += rows;
    text += "  }\n";
    if (streams_) text += "  if (call.stream) StreamFence();\n";
    return text + "}\n";
  }

 private:
  enum class Kind { kVector, kMask, kBool };
  struct Term {
    std::string text;
    Kind kind = Kind::kVector;
  };
  struct Scope {
    std::map<std::string, Term> terms;
    std::string lines;
    std::string indent;
  };

  // ---- text pieces

  std::string Use(const Dim& dim) {
    for (const std::string& name : dim.symbols()) used_sizes_.insert(name);
    return CppDim(dim);
  }

  std::string NewName(const std::string& base) {
    const int count = ++names_[base];
    return count == 1 ? base : fmt::format("{}_{}", base, count);
  }

  std::string Prologue() {
    std::string text;
    for (size_t i = 0; i < plan_.tensors.size(); ++i) {
      const PlanTensor& t = plan_.tensors[i];
      if (t.role == RowRole::kTable || t.role == RowRole::kIndex) continue;
      if (!used_tensors_.contains(static_cast<int>(i))) continue;
      const std::string type =
          (t.is_output ? "" : "const ") + (t.role == RowRole::kParam ? "float" : CppType(t.elem));
      text += fmt::format("  {}* const {} = static_cast<{}*>(call.tensors[{}].data);\n", type,
                          t.name, type, i);
      if (t.optional) text += fmt::format("  const bool has_{0} = {0} != nullptr;\n", t.name);
    }
    for (const auto& [tensor, axis] : used_strides_) {
      text += fmt::format("  const int64_t {} = call.tensors[{}].strides[{}];\n",
                          StrideName(tensor, axis), tensor, axis);
    }
    for (size_t i = 0; i < plan_.sizes.size(); ++i) {
      if (!used_sizes_.contains(plan_.sizes[i])) continue;
      text += fmt::format("  const int64_t {} = call.sizes[{}];\n", plan_.sizes[i], i);
    }
    for (size_t i = 0; i < plan_.scalars.size(); ++i) {
      if (!used_scalars_.contains(plan_.scalars[i])) continue;
      const bool is_bool = bool_scalars_.contains(plan_.scalars[i]);
      text +=
          is_bool
              ? fmt::format("  const bool {} = call.scalars[{}] != 0.0f;\n", plan_.scalars[i], i)
              : fmt::format("  const VF {} = Splat(call.scalars[{}]);\n", plan_.scalars[i], i);
    }
    return text;
  }

  std::string StrideName(int tensor, int axis) const {
    const PlanTensor& t = plan_.tensors[tensor];
    return fmt::format("{}{}_stride_{}", t.name, t.is_output ? "_out" : "", t.axes[axis].name);
  }

  std::string Fetches() {
    std::string text;
    int slot = 0;
    for (const int tensor : used_tables_) {
      const PlanTensor& table = plan_.tensors[tensor];
      std::string row = "row";
      for (const TableUse& use : plan_.tables) {
        if (use.table == tensor) row = fmt::format("LoadIndex(call.tensors[{}], row)", use.index);
      }
      Dim width(1);
      for (size_t k = 1; k < table.axes.size(); ++k) width = width * table.axes[k].size;
      // Sizes must be declared before: they were marked used with the first load of the table.
      text +=
          fmt::format("    const float* const {}_row = FetchRow({}, call.tensors[{}], {}, {});\n",
                      table.name, kFirstTableSlot + slot++, tensor, row, CppDim(width));
    }
    return text;
  }

  // ---- values

  Scope& ScopeFor(const ValueAt& value) { return value.DependsOnLane() ? inner_ : outer_; }

  Term Define(const ValueAt& value, const std::string& base, Kind kind, const std::string& expr) {
    Scope& scope = ScopeFor(value);
    const std::string name = NewName(base);
    const char* type = kind == Kind::kVector ? "VF" : kind == Kind::kMask ? "MF" : "bool";
    scope.lines += fmt::format("{}const {} {} = {};\n", scope.indent, type, name, expr);
    return scope.terms[value.key()] = {name, kind};
  }

  Term Get(const ValueAt& value) {
    for (Scope* scope : {&inner_, &outer_}) {
      const auto it = scope->terms.find(value.key());
      if (it != scope->terms.end()) return it->second;
    }
    const Node& node = graph_.node(value.node);
    switch (node.op) {
      case Op::kInput:
        return LoadInput(value, node);
      case Op::kConst:
        TENON_CHECK(node.type.elem.is_float(), "{}: integer constants cannot be generated",
                    plan_.name);
        return {fmt::format("Splat({})", FloatLiteral(node.value))};
      case Op::kAttr:
        used_scalars_.insert(node.name);
        if (node.type.elem == ir::Elem(DType::kBool)) {
          bool_scalars_.insert(node.name);
          return {node.name, Kind::kBool};
        }
        return {node.name};
      case Op::kPresent:
        used_tensors_.insert(tensor_index_.at(node.name));
        return {"has_" + node.name, Kind::kBool};
      case Op::kGatherRow:
        return LoadTable(value, node);
      case Op::kReduce:
        throw InternalError(
            __FILE__, __LINE__,
            fmt::format("{}: reduction %{} is used before its loop", plan_.name, value.node));
      default:
        return IsMovement(node.op) ? Get(ArgsOf(graph_, value, extents_)[0]) : Compute(value, node);
    }
  }

  Term Compute(const ValueAt& value, const Node& node) {
    std::vector<Term> args;
    std::string list;
    for (const ValueAt& arg : ArgsOf(graph_, value, extents_)) {
      args.push_back(Get(arg));
      list += (list.empty() ? "" : ", ") + args.back().text;
    }
    const std::string base = fmt::format("v{}", value.node);
    if (node.op == Op::kRound || node.op == Op::kCast) {
      TENON_CHECK(node.cast == ir::CastRule{}, "{}: this cast rule cannot be generated",
                  plan_.name);
      if (node.type.elem == ir::Elem(DType::kF32)) return args[0];
      return Define(value, base, Kind::kVector,
                    fmt::format("RoundTo<{}>({})", CppType(node.type.elem), list));
    }
    if (node.op == Op::kSelect) {
      if (args[0].kind == Kind::kBool) {
        return Define(value, base, args[1].kind,
                      fmt::format("{} ? {} : {}", args[0].text, args[1].text, args[2].text));
      }
      return Define(value, base, Kind::kVector, fmt::format("hn::IfThenElse({})", list));
    }
    if (node.op == Op::kMin || node.op == Op::kMax) {
      TENON_CHECK(node.propagate_nan || node.op == Op::kMax,
                  "{}: a minimum that ignores NaN cannot be generated", plan_.name);
      const char* word = nullptr;
      if (!node.propagate_nan)
        word = "MaximumNumber";
      else if (IsBound(node.args[1]))
        word = node.op == Op::kMin ? "BoundAbove" : "BoundBelow";
      if (word != nullptr) {
        return Define(value, base, Kind::kVector, fmt::format("{}({})", word, list));
      }
    }
    for (const OpWord& word : kOpWords) {
      if (word.op != node.op) continue;
      const bool is_mask = node.type.elem == ir::Elem(DType::kBool);
      if (std::ispunct(static_cast<unsigned char>(word.function[0]))) {
        return Define(value, base, Kind::kVector,
                      fmt::format("{} {} {}", args[0].text, word.function, args[1].text));
      }
      return Define(value, base, is_mask ? Kind::kMask : Kind::kVector,
                    fmt::format("{}({})", word.function, list));
    }
    throw UsageError(
        fmt::format("{}: {} cannot be generated for the CPU", plan_.name, ir::OpName(node.op)));
  }

  // A number that is neither NaN nor zero: a constant, or an attribute (contracts refuse NaN and
  // limits that are not positive), perhaps negated.
  bool IsBound(ir::NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.op == Op::kConst) return node.value != 0.0 && !std::isnan(node.value);
    return node.op == Op::kAttr || (node.op == Op::kNeg && IsBound(node.args[0]));
  }

  // Address of element `at` without its lane, and the lane's coefficient.
  struct Address {
    std::string text;
    int64_t lane = 0;
    int64_t parity = 0;  // with a coefficient of 2: whether it is the odd element of a pair
  };

  Address AddressOf(int tensor, const std::string& base, const std::vector<Dim>& at,
                    size_t first_axis) {
    const PlanTensor& t = plan_.tensors[tensor];
    Dim offset(0);
    for (size_t k = first_axis; k < at.size(); ++k) {
      offset = offset + at[k] * StrideOf(tensor, static_cast<int>(k));
    }
    const auto linear = offset.LinearIn(kLaneVar);
    TENON_CHECK(linear && linear->first >= 0 && linear->first <= 2,
                "{}: elements of {} are not neighbours in the loop over lanes", plan_.name, t.name);
    Address address;
    address.lane = linear->first;
    Dim rest = linear->second;
    if (address.lane == 2) {
      const Dim constant = rest.SplitBy(2).second;
      address.parity = constant.constant().value_or(0);
      rest = rest - Dim(address.parity);
    }
    address.text = rest == Dim(0) ? base : Pointer(tensor, base, Use(rest));
    return address;
  }

  // A pointer variable, so that the statements of a loop stay short.
  std::string Pointer(int tensor, const std::string& base, const std::string& offset) {
    const PlanTensor& t = plan_.tensors[tensor];
    if (t.optional) return base + " + " + offset;  // not before it is known to be there
    std::string& name = pointers_[base + " + " + offset];
    if (!name.empty()) return name;
    name = NewName(t.name + "_at");
    const bool is_float = t.role == RowRole::kParam || t.role == RowRole::kTable;
    outer_.lines +=
        fmt::format("{}{}{}* const {} = {} + {};\n", outer_.indent, t.is_output ? "" : "const ",
                    is_float ? "float" : CppType(t.elem), name, base, offset);
    return name;
  }

  // Stride of an axis as a size expression: a variable of the kernel, or 1 for the last axis.
  Dim StrideOf(int tensor, int axis) {
    const PlanTensor& t = plan_.tensors[tensor];
    if (t.role == RowRole::kParam || (t.role == RowRole::kTable && axis > 0)) {
      Dim stride(1);
      for (size_t k = axis + 1; k < t.axes.size(); ++k) stride = stride * t.axes[k].size;
      return stride;
    }
    if (axis > 0 && axis == static_cast<int>(t.axes.size()) - 1) return Dim(1);
    used_strides_.insert({tensor, axis});
    return Dim(StrideName(tensor, axis));
  }

  std::string LoadText(const Address& address, const std::string& pointer_key,
                       const std::string& name) {
    if (address.lane == 0) return fmt::format("LoadOne({})", address.text);
    if (address.lane == 1) return fmt::format("Load(c, {})", address.text);
    auto& pair = pairs_[pointer_key + address.text];
    if (pair.first.empty()) {
      pair = {NewName(name + "_even"), NewName(name + "_odd")};
      inner_.lines += fmt::format("{0}VF {1};\n{0}VF {2};\n{0}LoadPairs(c, {3}, {1}, {2});\n",
                                  inner_.indent, pair.first, pair.second, address.text);
    }
    return address.parity == 0 ? pair.first : pair.second;
  }

  Term LoadInput(const ValueAt& value, const Node& node) {
    const int tensor = tensor_index_.at(node.name);
    const PlanTensor& t = plan_.tensors[tensor];
    TENON_CHECK(t.role != RowRole::kIndex, "{}: index {} cannot be a value", plan_.name, t.name);
    if (t.role == RowRole::kTable) return LoadFetched(value, tensor, value.at);
    used_tensors_.insert(tensor);
    const Address address = AddressOf(tensor, t.name, value.at, 0);
    std::string load = LoadText(address, "", t.name);
    if (address.lane == 2 && !t.optional) return ScopeFor(value).terms[value.key()] = {load};
    if (t.optional) {
      load = fmt::format("has_{} ? {} : Splat({})", t.name, load, FloatLiteral(t.absent));
    }
    return Define(value, t.name + "_v", Kind::kVector, load);
  }

  Term LoadTable(const ValueAt& value, const Node& gather) {
    const Node& table = graph_.node(gather.args[0]);
    const size_t index_axes = graph_.node(gather.args[1]).type.axes.size();
    std::vector<Dim> at = {Dim(0)};  // the fetched row stands for the index
    at.insert(at.end(), value.at.begin() + static_cast<int64_t>(index_axes), value.at.end());
    return LoadFetched(value, tensor_index_.at(table.name), at);
  }

  Term LoadFetched(const ValueAt& value, int tensor, const std::vector<Dim>& at) {
    const PlanTensor& t = plan_.tensors[tensor];
    if (!std::count(used_tables_.begin(), used_tables_.end(), tensor)) {
      used_tables_.push_back(tensor);
      for (size_t k = 1; k < t.axes.size(); ++k) Use(t.axes[k].size);
    }
    const Address address = AddressOf(tensor, t.name + "_row", at, 1);
    const std::string load = LoadText(address, "", t.name);
    if (address.lane == 2) return ScopeFor(value).terms[value.key()] = {load};
    return Define(value, t.name + "_v", Kind::kVector, load);
  }

  // ---- loops

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
    outer_ = {{}, "", indent};
    kept_.clear();
    pointers_.clear();
    for (const Loop& loop : nest.loops) {
      inner_ = {{}, "", indent + "  "};
      pairs_.clear();
      extents_[kLaneVar] = loop.extent;
      for (const auto& [key, name] : kept_) {
        if (name.second == loop.extent) {
          inner_.terms[key] = {fmt::format("Load(c, {})", name.first)};
        }
      }
      outer_.lines.clear();
      const std::string body = EmitLoop(loop, indent);
      text += outer_.lines + body;
    }
    for (size_t i = nest.rows.size(); i-- > 0;) {
      indent.resize(indent.size() - 2);
      text += indent + "}\n";
    }
    return text;
  }

  std::string EmitLoop(const Loop& loop, const std::string& indent) {
    std::string declarations;
    std::string finishes;
    std::string tail;  // statements at the end of the loop's body: nothing is loaded after a store
    std::string copies;
    for (const Reduction& r : loop.reductions) {
      const Term argument = Get(r.argument);
      EmitReduction(r, argument.text, indent, declarations, finishes, tail);
    }
    for (const ValueAt& keep : loop.keeps) {
      const std::string name = NewName("kept");
      declarations += fmt::format("{}float* const {} = ScratchRow({}, {});\n", indent, name,
                                  kept_.size(), Use(loop.extent));
      tail += fmt::format("{}Store(c, {}, {});\n", inner_.indent, Get(keep).text, name);
      kept_[keep.key()] = {name, loop.extent};
    }
    bool has_row_stores = false;
    for (const Store& store : loop.stores) {
      if (store.is_copy) {
        copies += CopyText(store, loop.extent, indent);
        continue;
      }
      const bool one = loop.extent == Dim(0);
      (one ? copies : tail) += StoreText(store, one ? indent : inner_.indent);
      has_row_stores = has_row_stores || !one;
    }
    std::string text = declarations;
    if (!inner_.lines.empty() || !tail.empty()) {
      text += LoopText(loop, indent, inner_.lines + tail, has_row_stores);
    }
    text += copies + finishes;
    for (const Reduction& r : loop.reductions) {
      outer_.terms[r.result.key()] = {result_names_.at(r.result.key())};
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
    tail += fmt::format("{}{}_acc.Add(c, {});\n", inner_.indent, name, argument);
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

  std::string LoopText(const Loop& loop, const std::string& indent, const std::string& body,
                       bool has_row_stores) {
    const std::string lanes = Use(loop.extent);
    if (!loop.reductions.empty() || !has_row_stores) {
      const char* driver = loop.reductions.empty() ? "ForEachChunk" : "ForEachBlock";
      return fmt::format("{0}{1}({2}, [&](auto c) HWY_ATTR {{\n{3}{0}}});\n", indent, driver, lanes,
                         body);
    }
    streams_ = true;
    const std::string name = NewName("write");
    return fmt::format(
        "{0}const auto {1} = [&](auto c) HWY_ATTR {{\n{2}{0}}};\n"
        "{0}if (call.stream) {{\n{0}  ForEachChunkStreaming({3}, {1});\n"
        "{0}}} else {{\n{0}  ForEachChunk({3}, {1});\n{0}}}\n",
        indent, name, body, lanes);
  }

  // A stored value is rounded by the store itself.
  Term StoredTerm(const ValueAt& value, const ir::Elem& elem) {
    const Node& node = graph_.node(value.node);
    const bool known = inner_.terms.contains(value.key()) || outer_.terms.contains(value.key());
    if (!known && (node.op == Op::kRound || node.op == Op::kCast) && node.type.elem == elem &&
        node.cast == ir::CastRule{}) {
      return Get(ArgsOf(graph_, value, extents_)[0]);
    }
    return Get(value);
  }

  std::string StoreText(const Store& store, const std::string& indent) {
    const PlanTensor& t = plan_.tensors[store.tensor];
    used_tensors_.insert(store.tensor);
    const std::string first = StoredTerm(store.values[0], t.elem).text;
    const Address address = AddressOf(store.tensor, t.name, store.at, 0);
    if (address.lane == 0) return fmt::format("{}StoreOne({}, {});\n", indent, first, address.text);
    if (address.lane == 1) return fmt::format("{}Store(c, {}, {});\n", indent, first, address.text);
    const std::string second = StoredTerm(store.values[1], t.elem).text;
    return fmt::format("{}StorePairs(c, {}, {}, {});\n", indent, first, second, address.text);
  }

  std::string CopyText(const Store& store, const Dim& lanes, const std::string& indent) {
    const PlanTensor& out = plan_.tensors[store.tensor];
    used_tensors_.insert(store.tensor);
    ValueAt value = store.values[0];
    while (IsMovement(graph_.node(value.node).op)) value = ArgsOf(graph_, value, extents_)[0];
    const int source = tensor_index_.at(graph_.node(value.node).name);
    used_tensors_.insert(source);
    streams_ = true;
    return fmt::format("{}CopyRow(call.stream, {}, {}, {});\n", indent,
                       AddressOf(source, plan_.tensors[source].name, value.at, 0).text,
                       AddressOf(store.tensor, out.name, store.at, 0).text, Use(lanes));
  }

  static constexpr int kFirstTableSlot = 4;  // scratch rows 0 to 3 hold kept values

  const Graph& graph_;
  const RowPlan& plan_;
  Extents extents_;
  Scope outer_;
  Scope inner_;
  std::map<std::string, int> tensor_index_;
  std::map<std::string, int> names_;
  std::map<std::string, std::pair<std::string, std::string>> pairs_;  // address -> even, odd
  std::map<std::string, std::pair<std::string, Dim>> kept_;           // key -> row, extent
  std::map<std::string, std::string> pointers_;  // address -> variable of the nest
  std::map<std::string, std::string> result_names_;
  std::set<int> used_tensors_;
  std::set<std::pair<int, int>> used_strides_;
  std::set<std::string> used_sizes_;
  std::set<std::string> used_scalars_;
  std::set<std::string> bool_scalars_;
  std::vector<int> used_tables_;
  bool streams_ = false;
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
