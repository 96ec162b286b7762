#include <fmt/ranges.h>

#include <iterator>

#include "base/error.h"
#include "ir/ir.h"

namespace tenon::ir {
namespace {

constexpr std::string_view kOpNames[] = {
    "input",  "attr",       "const",       "iota",        "present",    "add",       "sub",
    "mul",    "div",        "fma",         "neg",         "abs",        "min",       "max",
    "sqrt",   "rsqrt",      "exp",         "log",         "sin",        "cos",       "tanh",
    "erf",    "sigmoid",    "floor",       "rint",        "lt",         "le",        "eq",
    "ne",     "and",        "or",          "not",         "select",     "idiv",      "imod",
    "bitand", "bitor",      "shl",         "shr",         "bits_of",    "from_bits", "cast",
    "round",  "reduce",     "broadcast",   "slice",       "concat",     "reshape",   "transpose",
    "copy",   "gather_row", "scatter_row", "write_slice", "limit_rows", "matmul",    "call",
    "result", "opaque",
};
static_assert(std::size(kOpNames) == kNumOps);

constexpr std::string_view kReduceNames[] = {"sum", "mean", "max", "min", "amax", "argmax"};
constexpr std::string_view kRoundingNames[] = {"rne", "rtz", "floor"};
constexpr std::string_view kIndexRuleNames[] = {"error", "skip", "zero", "clamp"};

}  // namespace

std::string_view OpName(Op op) { return kOpNames[static_cast<int>(op)]; }
std::string_view ReduceName(ReduceKind kind) { return kReduceNames[static_cast<int>(kind)]; }
std::string_view RoundingName(Rounding r) { return kRoundingNames[static_cast<int>(r)]; }
std::string_view IndexRuleName(IndexRule rule) { return kIndexRuleNames[static_cast<int>(rule)]; }

std::string QuotedText(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (code < 0x20 || code == 0x7F) {
      out += fmt::format("\\x{:02x}", code);
    } else {
      out += c;
    }
  }
  return out + '"';
}

// A float that reads back as one, not as an integer.
std::string RealText(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string AttrText(const AttrValue& value) {
  struct Visitor {
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return RealText(v); }
    std::string operator()(const std::string& v) const { return QuotedText(v); }
    std::string operator()(const std::vector<int64_t>& v) const {
      return fmt::format("[{}]", fmt::join(v, ", "));
    }
  };
  return std::visit(Visitor{}, value);
}

std::string ElemText(const Elem& elem) {
  switch (elem.kind) {
    case Elem::Kind::kConcrete:
      return std::string(DTypeName(elem.dtype));
    case Elem::Kind::kStorage:
      return "T";
    case Elem::Kind::kParam:
      return "W";
    case Elem::Kind::kIndex:
      return "I";
  }
  throw InternalError(__FILE__, __LINE__, "unknown element kind");
}

std::string TypeText(const Type& type) {
  std::string axes;
  for (const Axis& axis : type.axes) {
    if (!axes.empty()) axes += ", ";
    axes += Dim(axis.name) == axis.size ? axis.name : axis.name + "=" + axis.size.text();
  }
  return ElemText(type.elem) + "[" + axes + "]";
}

int Type::FindAxis(std::string_view name) const {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

Dim Type::numel() const {
  Dim product(1);
  for (const Axis& axis : axes) product = product * axis.size;
  return product;
}

std::string NodeKey(const Node& node) {
  std::string key = fmt::format(
      "{}|{}|{}|{}|{:a}|{}|{}|{}|{}|{}|{}|{}{}{}|{}", OpName(node.op), fmt::join(node.args, ","),
      TypeText(node.type), node.name, node.value, node.optional, ReduceName(node.reduce),
      node.propagate_nan, node.axis, node.dim, node.offset.text(), RoundingName(node.cast.rounding),
      node.cast.saturate, node.cast.nan_to_zero, IndexRuleName(node.index_rule));
  for (const auto& [name, value] : node.call) key += "|" + name + "=" + AttrText(value);
  return key;
}

NodeId Graph::Add(Node node) {
  for (NodeId arg : node.args) {
    TENON_ASSERT(arg >= 0 && arg < static_cast<NodeId>(nodes_.size()),
                 "graph {}: argument %{} of {} is not defined yet", name_, arg, OpName(node.op));
  }
  const auto id = static_cast<NodeId>(nodes_.size());
  if (node.op != Op::kCall && node.op != Op::kOpaque) {
    const auto [it, inserted] = ids_.emplace(NodeKey(node), id);
    if (!inserted) return it->second;
  }
  nodes_.push_back(std::move(node));
  return id;
}

std::vector<NodeId> Graph::inputs() const {
  std::vector<NodeId> ids;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].op == Op::kInput) ids.push_back(static_cast<NodeId>(i));
  }
  return ids;
}

NodeId Graph::FindInput(std::string_view name) const {
  for (NodeId id : inputs()) {
    if (node(id).name == name) return id;
  }
  return -1;
}

std::vector<int> Graph::UseCounts() const {
  std::vector<int> counts(nodes_.size(), 0);
  for (const Node& node : nodes_) {
    for (NodeId arg : node.args) ++counts[static_cast<size_t>(arg)];
  }
  for (const Output& output : outputs_) ++counts[static_cast<size_t>(output.value)];
  return counts;
}

}  // namespace tenon::ir
