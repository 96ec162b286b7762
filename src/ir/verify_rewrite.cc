#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "ir/normal_form.h"
#include "ir/op_table.h"
#include "ir/verifier.h"

namespace tenon::ir {
namespace {

using Facts = std::map<std::string, int>;  // what an output depends on, in words -> how many nodes

std::string RoundingText(const Node& node) {
  const CastRule& rule = node.cast;
  return fmt::format(
      "{} to {}{}{}{}", node.op == Op::kRound ? "rounding" : "cast", ElemText(node.type.elem),
      rule.rounding == Rounding::kNearestEven ? ""
                                              : fmt::format(" {}", RoundingName(rule.rounding)),
      rule.saturate ? "" : " without saturation", rule.nan_to_zero ? "" : " with any NaN");
}

// A node by itself, in words that a sentence can list; empty for movement and parts of calls.
std::string Words(const Node& node) {
  switch (node.op) {
    case Op::kInput:
      return "input " + node.name;
    case Op::kAttr:
      return "attribute " + node.name;
    case Op::kConst:
      return fmt::format("constant {}", node.value);
    case Op::kPresent:
      return "presence of " + node.name;
    case Op::kCast:
    case Op::kRound:
      return RoundingText(node);
    case Op::kReduce:
      return fmt::format("{}{}", ReduceName(node.reduce),
                         node.propagate_nan ? "" : " ignoring NaN");
    case Op::kGatherRow:
    case Op::kScatterRow:
      return fmt::format("{} with rule {}", OpName(node.op), IndexRuleName(node.index_rule));
    case Op::kCall:
    case Op::kOpaque:
      return fmt::format("{} {}", OpName(node.op), node.name);
    case Op::kResult:
      return "";
    default:
      if (IsMovement(node.op) && node.args.size() == 1) return "";
      return fmt::format("{}{}", OpName(node.op), node.propagate_nan ? "" : " ignoring NaN");
  }
}

// A value as an argument: the first node on the way up that is not movement.
std::string ArgumentWords(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const std::string words = Words(node);
  if (words.empty()) return ArgumentWords(graph, node.args[0]);
  return RowOf(node.op).op_class == OpClass::kLeaf ? words.substr(words.find(' ') + 1) : words;
}

// Per output, over the nodes that it needs.
Facts FactsOf(const Graph& graph, NodeId root) {
  std::vector<bool> needed(graph.nodes().size(), false);
  needed[static_cast<size_t>(root)] = true;
  Facts facts;
  for (NodeId id = root; id >= 0; --id) {
    if (!needed[static_cast<size_t>(id)]) continue;
    const Node& node = graph.node(id);
    for (NodeId arg : node.args) needed[static_cast<size_t>(arg)] = true;
    const std::string words = Words(node);
    if (words.empty()) continue;
    std::vector<std::string> args;
    for (NodeId arg : node.args) args.push_back(ArgumentWords(graph, arg));
    ++facts[args.empty() ? words : fmt::format("{} of ({})", words, Join(args, ", "))];
    for (const auto& [name, value] : node.call) {
      ++facts[fmt::format("{}={} of {}", name, AttrText(value), node.name)];
    }
  }
  return facts;
}

std::optional<std::string> InterfaceLoss(const Graph& before, const Graph& after) {
  for (NodeId id : before.inputs()) {
    const Node& input = before.node(id);
    const NodeId other = after.FindInput(input.name);
    if (other < 0) return fmt::format("input {} is gone", input.name);
    const Node& kept = after.node(other);
    if (NodeKey(kept) != NodeKey(input)) {
      return fmt::format(
          "input {} was {}{}, is {}{}", input.name,
          input.optional ? fmt::format("optional({}) ", input.value) : "", TypeText(input.type),
          kept.optional ? fmt::format("optional({}) ", kept.value) : "", TypeText(kept.type));
    }
  }
  if (after.inputs().size() != before.inputs().size()) return "there are more inputs than before";
  if (after.outputs().size() != before.outputs().size()) {
    return fmt::format("there were {} outputs, are {}", before.outputs().size(),
                       after.outputs().size());
  }
  for (size_t i = 0; i < before.outputs().size(); ++i) {
    const Output& was = before.outputs()[i];
    const Output& is = after.outputs()[i];
    if (was.name != is.name) return fmt::format("output {} became {}", was.name, is.name);
    const Type& old_type = before.node(was.value).type;
    const Type& new_type = after.node(is.value).type;
    if (!(old_type == new_type)) {
      return fmt::format("output {} was {}, is {}", was.name, TypeText(old_type),
                         TypeText(new_type));
    }
    if (was.in_place != is.in_place || was.strides != is.strides) {
      return fmt::format("output {} lies elsewhere: in place of '{}' before, '{}' after", was.name,
                         was.in_place, is.in_place);
    }
  }
  return std::nullopt;
}

// "attribute eps, rounding to bf16 (1 of 2)"
std::string Missing(const Facts& before, const Facts& after) {
  std::vector<std::string> lost;
  for (const auto& [fact, count] : before) {
    const auto it = after.find(fact);
    const int kept = it == after.end() ? 0 : it->second;
    if (kept >= count) continue;
    lost.push_back(count == 1 ? fact : fmt::format("{} ({} of {})", fact, count - kept, count));
  }
  return Join(lost, ", ");
}

Facts OnlyRoundings(const Graph& graph, NodeId root) {
  Facts roundings;
  for (const auto& [fact, count] : FactsOf(graph, root)) {
    if (fact.starts_with("rounding to ") || fact.starts_with("cast to ")) roundings[fact] = count;
  }
  return roundings;
}

}  // namespace

std::optional<std::string> FindLoss(const Graph& before, const Graph& after,
                                    const CallResolver& resolver) {
  if (const auto loss = InterfaceLoss(before, after)) return loss;
  const Graph flat_before = resolver ? Inline(before, resolver) : before;
  const Graph flat_after = resolver ? Inline(after, resolver) : after;
  const Graph was = NormalForm(flat_before);
  const Graph is = NormalForm(flat_after);
  for (size_t i = 0; i < was.outputs().size(); ++i) {
    const NodeId old_root = was.outputs()[i].value;
    const NodeId new_root = is.outputs()[i].value;
    const std::string& name = was.outputs()[i].name;
    const std::string lost = Missing(FactsOf(was, old_root), FactsOf(is, new_root));
    if (!lost.empty()) return fmt::format("output {} lost {}", name, lost);
    const std::string added = Missing(OnlyRoundings(is, new_root), OnlyRoundings(was, old_root));
    if (!added.empty()) return fmt::format("output {} gained {}", name, added);
  }
  return FindDifference(flat_before, flat_after);
}

void VerifyRewrite(const Graph& before, const Graph& after, const CallResolver& resolver) {
  const auto loss = FindLoss(before, after, resolver);
  TENON_ASSERT(!loss, "rewrite of {}: {}", before.name(), loss.value_or(""));
}

}  // namespace tenon::ir
