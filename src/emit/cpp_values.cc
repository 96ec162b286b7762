#include "emit/cpp_values.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/error.h"
#include "emit/cpp_words.h"
#include "emit/keeps.h"
#include "emit/segments.h"

namespace tenon::emit {

using cpu::RowRole;
using ir::Dim;
using ir::Graph;
using ir::Node;
using ir::Op;

namespace {

// A size expression in C++.
std::string CppDim(const Dim& dim) {
  std::string text = dim.text();
  for (size_t at = 0; (at = text.find("//", at)) != std::string::npos;) text.replace(at, 2, "/");
  for (size_t at = 0; (at = text.find("ceil(", at)) != std::string::npos; at += 8) {
    text.replace(at, 5, "CeilDiv(");
  }
  return text;
}

}  // namespace

CppValues::CppValues(const Graph& graph, const RowPlan& plan) : graph_(graph), plan_(plan) {
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    names_[plan.tensors[i].name] = 1;  // taken: a value of that name gets a number
    if (!plan.tensors[i].is_output) tensor_index_[plan.tensors[i].name] = static_cast<int>(i);
  }
  extents_[kRowVar] = plan.row_axis.size;
}

std::string CppValues::CppType(const ir::Elem& elem) {
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

std::string CppValues::AbsentText(const PlanTensor& tensor) {
  return fmt::format("Splat({})", FloatLiteral(tensor.absent));
}

std::string CppValues::Prologue() const {
  std::string text;
  for (size_t i = 0; i < plan_.tensors.size(); ++i) {
    const PlanTensor& t = plan_.tensors[i];
    if (t.role == RowRole::kTable || t.role == RowRole::kIndex) continue;
    if (!used_tensors_.contains(static_cast<int>(i))) continue;
    const std::string type =
        (t.is_output ? "" : "const ") + (t.role == RowRole::kParam ? "float" : CppType(t.elem));
    text += fmt::format("  {}* const {} = static_cast<{}*>(call.tensors[{}].data);\n", type, t.name,
                        type, i);
    if (t.optional) text += fmt::format("  const bool has_{0} = {0} != nullptr;\n", t.name);
  }
  for (size_t i = 0; i < plan_.tensors.size(); ++i) {
    const PlanTensor& t = plan_.tensors[i];
    if (!t.may_be_one) continue;
    text += fmt::format("  const bool {}_is_one = call.tensors[{}].strides[0] == 0;\n", t.name, i);
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
    text += is_bool
                ? fmt::format("  const bool {} = call.scalars[{}] != 0.0f;\n", plan_.scalars[i], i)
                : fmt::format("  const VF {} = Splat(call.scalars[{}]);\n", plan_.scalars[i], i);
  }
  return text;
}

std::string CppValues::Fetches() const {
  std::string text;
  int slot = 0;
  for (const Fetched& fetched : fetched_) {
    const PlanTensor& table = plan_.tensors[fetched.tensor];
    std::string row = "row";
    for (const TableUse& use : plan_.tables) {
      if (use.table != fetched.tensor) continue;
      const std::string column = fetched.column.empty() ? "" : ", " + fetched.column;
      row = fmt::format("LoadIndex(call.tensors[{}], row{})", use.index, column);
    }
    Dim width(1);
    for (size_t k = 1; k < table.axes.size(); ++k) width = width * table.axes[k].size;
    // Sizes must be declared before: they were marked used with the first load of the table.
    text += fmt::format("    const float* const {} = FetchRow({}, call.tensors[{}], {}, {});\n",
                        fetched.Name(table), kFirstTableSlot + slot++, fetched.tensor, row,
                        CppDim(width));
  }
  return text;
}

std::string CppValues::Use(const Dim& dim) {
  for (const std::string& name : dim.symbols()) used_sizes_.insert(name);
  return CppDim(dim);
}

std::string CppValues::NewName(const std::string& base) {
  const int count = ++names_[base];
  return count == 1 ? base : fmt::format("{}_{}", base, count);
}

CppValues::Term CppValues::Define(const ValueAt& value, const std::string& base, Kind kind,
                                  const std::string& expr) {
  Scope& scope = ScopeFor(value);
  const std::string name = NewName(base);
  constexpr const char* kTypes[] = {"VF", "VI", "MF", "bool"};
  const char* type = kTypes[static_cast<int>(kind)];
  scope.lines += fmt::format("{}const {} {} = {};\n", scope.indent, type, name, expr);
  return scope.terms[value.key()] = {name, kind};
}

CppValues::Term CppValues::Get(const ValueAt& value) {
  for (Scope* scope : {&inner_, &outer_}) {
    const auto it = scope->terms.find(value.key());
    if (it != scope->terms.end()) return it->second;
  }
  if (const std::string part = PartOfKeptRow(value); !part.empty()) {
    return Define(value, "kept_v", Kind::kVector, fmt::format("Load(chunk, {})", part));
  }
  const Node& node = graph_.node(value.node);
  switch (node.op) {
    case Op::kInput:
      return LoadInput(value, node);
    case Op::kConst:
      if (node.type.elem == ir::Elem(DType::kI32)) {
        return {fmt::format("hn::Set(DI(), {})", static_cast<int32_t>(node.value)), Kind::kInteger};
      }
      TENON_CHECK(node.type.elem.is_float(), "{}: constants of type {} cannot be generated",
                  plan_.name, ir::ElemText(node.type.elem));
      return {fmt::format("Splat({})", FloatLiteral(node.value))};
    case Op::kAttr:
      used_scalars_.insert(node.name);
      if (node.type.elem == ir::Elem(DType::kBool)) {
        bool_scalars_.insert(node.name);
        return {node.name, Kind::kBool};
      }
      return {node.name};
    case Op::kIota: {
      const auto linear = value.at[0].LinearIn(kLaneVar);
      TENON_CHECK(linear && linear->first == 1, "{}: iota must run along the vector lanes",
                  plan_.name);
      const std::string from =
          linear->second == Dim(0) ? "chunk.index" : "chunk.index + " + Use(linear->second);
      return Define(value, "iota", Kind::kInteger, fmt::format("IotaFrom({})", from));
    }
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

// The address of a value that an earlier nest has kept, or empty.
std::string CppValues::PartOfKeptRow(const ValueAt& value) {
  const auto whole = WholeRowOf(value);
  const auto kept = whole ? kept_rows_.find(whole->first.key()) : kept_rows_.end();
  if (kept == kept_rows_.end()) return "";
  const std::string offset = Use(whole->second);
  std::string& name = pointers_[kept->second + " + " + offset];
  if (name.empty()) {
    name = NewName(kept->second + "_at");
    outer_.lines += fmt::format("{}const auto* const {} = {} + {};\n", outer_.indent, name,
                                kept->second, offset);
  }
  return name;
}

CppValues::Term CppValues::Compute(const ValueAt& value, const Node& node) {
  std::vector<Term> args;
  std::string list;
  for (const ValueAt& arg : ArgsOf(graph_, value, extents_)) {
    args.push_back(Get(arg));
    list += (list.empty() ? "" : ", ") + args.back().text;
  }
  const std::string base = fmt::format("v{}", value.node);
  if (node.op == Op::kRound || node.op == Op::kCast) {
    TENON_CHECK(node.cast == ir::CastRule{}, "{}: this cast rule cannot be generated", plan_.name);
    if (args[0].kind == Kind::kInteger && node.type.elem == ir::Elem(DType::kF32)) {
      return Define(value, base, Kind::kVector, fmt::format("hn::ConvertTo(DF(), {})", list));
    }
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
  if (const char* word = MinMaxWord(node)) {
    return Define(value, base, Kind::kVector, fmt::format("{}({})", word, list));
  }
  if (node.type.elem == ir::Elem(DType::kI32)) return ComputeInteger(value, node, args, list);
  if (const char* word = FloatWord(node.op)) {
    const bool is_mask = node.type.elem == ir::Elem(DType::kBool);
    if (std::ispunct(static_cast<unsigned char>(word[0]))) {
      return Define(value, base, Kind::kVector,
                    fmt::format("{} {} {}", args[0].text, word, args[1].text));
    }
    return Define(value, base, is_mask ? Kind::kMask : Kind::kVector,
                  fmt::format("{}({})", word, list));
  }
  throw UsageError(
      fmt::format("{}: {} cannot be generated for the CPU", plan_.name, ir::OpName(node.op)));
}

CppValues::Term CppValues::ComputeInteger(const ValueAt& value, const Node& node,
                                          const std::vector<Term>& args, const std::string& list) {
  const bool all_integers = std::all_of(args.begin(), args.end(),
                                        [](const Term& arg) { return arg.kind == Kind::kInteger; });
  const char* word = IntegerWord(node.op);
  if (word != nullptr && all_integers != (node.op == Op::kBitsOf)) {
    return Define(value, fmt::format("v{}", value.node), Kind::kInteger,
                  fmt::format("{}({})", word, list));
  }
  throw UsageError(fmt::format("{}: {} of integers cannot be generated for the CPU", plan_.name,
                               ir::OpName(node.op)));
}

// The cheaper forms of minimum and maximum, where they have the same bits; else null.
const char* CppValues::MinMaxWord(const Node& node) const {
  if (node.op != Op::kMin && node.op != Op::kMax) return nullptr;
  TENON_CHECK(node.propagate_nan || node.op == Op::kMax,
              "{}: a minimum that ignores NaN cannot be generated", plan_.name);
  if (!node.propagate_nan) return "MaximumNumber";
  if (!IsBound(node.args[1])) return nullptr;
  return node.op == Op::kMin ? "BoundAbove" : "BoundBelow";
}

// A number that is neither NaN nor zero: a constant, or an attribute (contracts refuse NaN and
// limits that are not positive), perhaps negated.
bool CppValues::IsBound(ir::NodeId id) const {
  const Node& node = graph_.node(id);
  if (node.op == Op::kConst) return node.value != 0.0 && !std::isnan(node.value);
  return node.op == Op::kAttr || (node.op == Op::kNeg && IsBound(node.args[0]));
}

CppValues::Address CppValues::AddressOf(int tensor, const std::string& base,
                                        const std::vector<Dim>& at, size_t first_axis) {
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
    address.parity = rest.constant_term() & 1;
    rest = rest - Dim(address.parity);
  }
  address.text = rest == Dim(0) ? base : Pointer(tensor, base, Use(rest));
  return address;
}

// A pointer variable, so that the statements of a loop stay short.
std::string CppValues::Pointer(int tensor, const std::string& base, const std::string& offset) {
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
Dim CppValues::StrideOf(int tensor, int axis) {
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

std::string CppValues::StrideName(int tensor, int axis) const {
  const PlanTensor& t = plan_.tensors[tensor];
  return fmt::format("{}{}_stride_{}", t.name, t.is_output ? "_out" : "", t.axes[axis].name);
}

std::string CppValues::LoadText(const Address& address, const PlanTensor& tensor) {
  if (address.lane == 2) {
    auto& pair = pairs_[address.text];
    if (pair.first.empty()) {
      pair = {NewName(tensor.name + "_even"), NewName(tensor.name + "_odd")};
      const std::string absent = tensor.optional ? " = " + AbsentText(tensor) : "";
      const std::string when = tensor.optional ? "if (has_" + tensor.name + ") " : "";
      inner_.lines +=
          fmt::format("{0}VF {1}{3};\n{0}VF {2}{3};\n{0}{4}LoadPairs(chunk, {5}, {1}, {2});\n",
                      inner_.indent, pair.first, pair.second, absent, when, address.text);
    }
    return address.parity == 0 ? pair.first : pair.second;
  }
  const std::string load =
      address.lane == 0 ? "LoadOne(" + address.text + ")" : "Load(chunk, " + address.text + ")";
  if (tensor.may_be_one) {
    return fmt::format("{0}_is_one ? LoadOne({0}) : {1}", tensor.name, load);
  }
  if (!tensor.optional) return load;
  return fmt::format("has_{} ? {} : {}", tensor.name, load, AbsentText(tensor));
}

CppValues::Term CppValues::LoadInput(const ValueAt& value, const Node& node) {
  const int tensor = tensor_index_.at(node.name);
  const PlanTensor& t = plan_.tensors[tensor];
  TENON_CHECK(t.role != RowRole::kIndex, "{}: index {} cannot be a value", plan_.name, t.name);
  if (t.role == RowRole::kTable) return LoadFetched(value, {tensor, ""}, value.at);
  used_tensors_.insert(tensor);
  const Address address = AddressOf(tensor, t.name, value.at, 0);
  if (t.role == RowRole::kRow && address.lane != 0) NoteRead(tensor, address);
  return DefineLoad(value, t, address);
}

void CppValues::NoteRead(int tensor, const Address& address) {
  for (const RowRead& read : reads_) {
    if (read.address.text == address.text) return;
  }
  reads_.push_back({tensor, address});
}

// Pairs have variables of their own.
CppValues::Term CppValues::DefineLoad(const ValueAt& value, const PlanTensor& tensor,
                                      const Address& address) {
  const std::string load = LoadText(address, tensor);
  if (address.lane == 2) return ScopeFor(value).terms[value.key()] = {load};
  return Define(value, tensor.name + "_v", Kind::kVector, load);
}

CppValues::Term CppValues::LoadTable(const ValueAt& value, const Node& gather) {
  const Node& table = graph_.node(gather.args[0]);
  const size_t index_axes = graph_.node(gather.args[1]).type.axes.size();
  Fetched fetched{tensor_index_.at(table.name), ""};
  if (index_axes == 2) {
    TENON_CHECK(value.at[1].constant(), "{}: the index of {} varies along its second axis",
                plan_.name, table.name);
    fetched.column = value.at[1].text();
  }
  std::vector<Dim> at = {Dim(0)};  // the fetched row stands for the index
  at.insert(at.end(), value.at.begin() + static_cast<int64_t>(index_axes), value.at.end());
  return LoadFetched(value, fetched, at);
}

CppValues::Term CppValues::LoadFetched(const ValueAt& value, const Fetched& fetched,
                                       const std::vector<Dim>& at) {
  const PlanTensor& t = plan_.tensors[fetched.tensor];
  if (!std::count(fetched_.begin(), fetched_.end(), fetched)) {
    fetched_.push_back(fetched);
    for (size_t k = 1; k < t.axes.size(); ++k) Use(t.axes[k].size);
  }
  return DefineLoad(value, t, AddressOf(fetched.tensor, fetched.Name(t), at, 1));
}

}  // namespace tenon::emit
