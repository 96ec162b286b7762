#include "ir/verifier.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "base/error.h"
#include "ir/infer.h"
#include "ir/op_table.h"
#include "ir/printer.h"

namespace tenon::ir {
namespace {

using Sentence = std::optional<std::string>;

// The name of a field that the op does not use and that is not at its default.
Sentence StrayField(const Node& node) {
  const Node fresh;
  const uint32_t used = RowOf(node.op).fields;
  const auto stray = [&](NodeField field, bool differs) { return !(used & field) && differs; };
  if (stray(kFieldName, !node.name.empty())) return "name";
  if (stray(kFieldValue, node.value != 0)) return "value";
  if (stray(kFieldOptional, node.optional)) return "optional";
  if (stray(kFieldReduce, node.reduce != fresh.reduce)) return "reduce";
  if (stray(kFieldPropagateNan, !node.propagate_nan)) return "propagate_nan";
  if (stray(kFieldAxis, !node.axis.empty())) return "axis";
  if (stray(kFieldDim, node.dim != 0)) return "dim";
  if (stray(kFieldOffset, !(node.offset == Dim(0)))) return "offset";
  if (stray(kFieldCast, node.cast != fresh.cast)) return "cast";
  if (stray(kFieldIndexRule, node.index_rule != fresh.index_rule)) return "index_rule";
  if (stray(kFieldCall, !node.call.empty())) return "call";
  if (stray(kFieldResults, !node.results.empty())) return "results";
  const bool sums = node.reduce == ReduceKind::kSum || node.reduce == ReduceKind::kMean;
  if (node.op == Op::kReduce && sums && !node.propagate_nan) return "propagate_nan";
  if (node.op == Op::kInput && !node.optional && node.value != 0) return "value";
  return std::nullopt;
}

bool IsWord(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph) {}

  Sentence Run() {
    for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
      if (const Sentence order = CheckArguments(id)) return Located(id, *order);
      if (const Sentence rule = CheckNode(graph_.node(id))) return Located(id, *rule);
    }
    for (const Output& output : graph_.outputs()) {
      if (const Sentence rule = CheckOutput(output)) {
        return fmt::format("{}: output {}: {}", graph_.name(), output.name, *rule);
      }
    }
    return std::nullopt;
  }

 private:
  std::string Located(NodeId id, const std::string& rule) const {
    const Node& node = graph_.node(id);
    const bool printable = std::all_of(node.args.begin(), node.args.end(), [&](NodeId arg) {
      return arg >= 0 && arg < static_cast<NodeId>(graph_.nodes().size());
    });
    return fmt::format("{}: {}: {}{}", graph_.name(),
                       printable ? NodeText(graph_, id) : std::string(OpName(node.op)), rule,
                       SpanText(node.span));
  }

  Sentence CheckArguments(NodeId id) const {
    const Node& node = graph_.node(id);
    const int expected = RowOf(node.op).num_args;
    if (expected != kAnyArgs && static_cast<int>(node.args.size()) != expected) {
      return fmt::format("takes {} arguments, got {}", expected, node.args.size());
    }
    for (NodeId arg : node.args) {
      if (arg < 0 || arg >= id) return fmt::format("argument %{} does not come before it", arg);
    }
    return std::nullopt;
  }

  Sentence CheckNode(const Node& node) {
    try {
      const Type inferred = InferType(graph_, node);
      if (!(inferred == node.type)) {
        return fmt::format("its arguments give {}", TypeText(inferred));
      }
    } catch (const UsageError& e) {
      return e.what();
    }
    if (const Sentence field = StrayField(node)) {
      return fmt::format("{} does not use the field {}", OpName(node.op), *field);
    }
    for (const Axis& axis : node.type.axes) {
      if (!IsWord(axis.name)) return fmt::format("'{}' is no axis name", axis.name);
      if (axis.size.constant().value_or(0) < 0) {
        return fmt::format("axis {} has size {}", axis.name, axis.size.text());
      }
    }
    if (const Sentence rule = CheckLeaf(node)) return rule;
    if (const Sentence rule = CheckElements(node)) return rule;
    return CheckIndexRule(node);
  }

  // Names and scalars.
  Sentence CheckLeaf(const Node& node) {
    if (RowOf(node.op).fields & kFieldName && node.name.empty()) {
      return node.op == Op::kOpaque ? "has no reason" : "has no name";
    }
    switch (node.op) {
      case Op::kInput:
        if (!inputs_.insert(node.name).second) return "is the second input of that name";
        return std::nullopt;
      case Op::kAttr: {
        const auto [it, inserted] = attributes_.emplace(node.name, node.type.elem);
        if (!(it->second == node.type.elem)) return "is of another type elsewhere";
        return node.type.axes.empty() ? std::nullopt : Sentence("must be a scalar");
      }
      case Op::kConst:
        return node.type.axes.empty() ? std::nullopt : Sentence("must be a scalar");
      case Op::kIota:
        if (node.type.axes.size() == 1 && !node.type.elem.is_float()) return std::nullopt;
        return "must be integers along one axis";
      case Op::kPresent: {
        const NodeId input = graph_.FindInput(node.name);
        if (input >= 0 && graph_.node(input).optional) return std::nullopt;
        return "names no optional input";
      }
      case Op::kCall:
      case Op::kOpaque:
        if (node.results.empty() || !(node.results[0] == node.type)) {
          return "must have the type of its first result";
        }
        return std::nullopt;
      default:
        return std::nullopt;
    }
  }

  Sentence CheckElements(const Node& node) const {
    const Elem& elem = node.type.elem;
    switch (node.op) {
      case Op::kCast:
      case Op::kRound:
        if (elem.concrete() || elem == Elem::Storage()) return std::nullopt;
        return fmt::format("{} is a type of inputs, not one to round to", ElemText(elem));
      case Op::kResult: {
        const Op from = graph_.node(node.args[0]).op;
        if (from == Op::kCall || from == Op::kOpaque) return std::nullopt;
        return "takes a call or an opaque node";
      }
      case Op::kLimitRows: {
        const Type& count = graph_.node(node.args[1]).type;
        if (count.axes.empty() || count.numel() == Dim(1)) return std::nullopt;
        return "takes one number as its count";
      }
      default:
        return std::nullopt;
    }
  }

  Sentence CheckIndexRule(const Node& node) const {
    if (node.op == Op::kGatherRow && node.index_rule == IndexRule::kSkip) {
      return "a read cannot skip: the rule must be error, zero or clamp";
    }
    if (node.op == Op::kScatterRow && node.index_rule == IndexRule::kZero) {
      return "a write has no zeros: the rule must be error, skip or clamp";
    }
    return std::nullopt;
  }

  Sentence CheckOutput(const Output& output) {
    if (output.name.empty()) return "has no name";
    if (!outputs_.insert(output.name).second) return "is the second output of that name";
    if (output.value < 0 || output.value >= static_cast<NodeId>(graph_.nodes().size())) {
      return fmt::format("%{} does not exist", output.value);
    }
    const Type& type = graph_.node(output.value).type;
    if (!output.strides.empty() && output.strides.size() != type.axes.size()) {
      return fmt::format("has {} strides for {}", output.strides.size(), TypeText(type));
    }
    if (output.in_place.empty()) return std::nullopt;
    const NodeId input = graph_.FindInput(output.in_place);
    if (input < 0) return fmt::format("there is no input {} to overwrite", output.in_place);
    if (!overwritten_.insert(output.in_place).second) {
      return fmt::format("input {} is overwritten by another output", output.in_place);
    }
    const Type& place = graph_.node(input).type;
    bool fits = place.elem == type.elem && place.axes.size() == type.axes.size();
    for (size_t i = 0; fits && i < type.axes.size(); ++i) {
      fits = place.axes[i].size == type.axes[i].size;
    }
    if (fits) return std::nullopt;
    return fmt::format("{} does not fit the memory of {}, {}", TypeText(type), output.in_place,
                       TypeText(place));
  }

  const Graph& graph_;
  std::set<std::string> inputs_;
  std::set<std::string> outputs_;
  std::set<std::string> overwritten_;
  std::map<std::string, Elem> attributes_;
};

}  // namespace

Sentence FindViolation(const Graph& graph) { return Verifier(graph).Run(); }

void Verify(const Graph& graph) {
  if (const Sentence violation = FindViolation(graph)) throw UsageError(*violation);
}

Graph RunPass(std::string_view name, const std::function<Graph(const Graph&)>& pass,
              const Graph& graph) {
  Graph result = pass(graph);
  const Sentence violation = FindViolation(result);
  TENON_ASSERT(!violation, "pass {} made an invalid graph: {}", name, violation.value_or(""));
  return result;
}

}  // namespace tenon::ir
