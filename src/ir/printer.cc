#include "ir/printer.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "ir/op_table.h"

namespace tenon::ir {
namespace {

bool IsWord(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

std::string CastText(const CastRule& rule) {
  std::string text;
  if (rule.rounding != Rounding::kNearestEven)
    text += fmt::format(" {}", RoundingName(rule.rounding));
  if (!rule.saturate) text += " unsaturated";
  if (!rule.nan_to_zero) text += " any_nan";
  return text;
}

std::string CallText(const std::map<std::string, AttrValue>& call) {
  if (call.empty()) return "";
  std::vector<std::string> parts;
  parts.reserve(call.size());
  for (const auto& [name, value] : call) {
    parts.push_back(fmt::format("{}={}", IsWord(name) ? name : QuotedText(name), AttrText(value)));
  }
  return " {" + Join(parts, ", ") + "}";
}

// The fields that the op uses, in the order in which the parser takes them.
std::string FieldsText(const Node& node) {
  const uint32_t fields = RowOf(node.op).fields;
  std::string text;
  if (node.optional) text += fmt::format(" optional({})", RealText(node.value));
  if (node.op == Op::kConst) {
    text +=
        " " + (node.type.elem.is_float() ? RealText(node.value) : fmt::format("{}", node.value));
  }
  if (fields & kFieldReduce) text += fmt::format(" {}", ReduceName(node.reduce));
  if (fields & kFieldAxis) text += fmt::format(" axis={}", node.axis);
  if (fields & kFieldDim) text += fmt::format(" dim={}", node.dim);
  if (fields & kFieldOffset) text += fmt::format(" offset=({})", node.offset.text());
  if (fields & kFieldCast) text += CastText(node.cast);
  if (fields & kFieldIndexRule) text += fmt::format(" {}", IndexRuleName(node.index_rule));
  if (fields & kFieldPropagateNan && !node.propagate_nan) text += " ignore_nan";
  if (fields & kFieldName) text += " " + QuotedText(node.name);
  if (fields & kFieldCall) text += CallText(node.call);
  return text;
}

std::string TypesText(const Node& node) {
  if (node.results.size() < 2) return TypeText(node.type);
  std::vector<std::string> parts;
  for (const Type& type : node.results) parts.push_back(TypeText(type));
  return "(" + Join(parts, ", ") + ")";
}

std::vector<std::string> Labels(const Graph& graph) {
  std::vector<std::string> labels;
  std::set<std::string> taken;
  for (size_t id = 0; id < graph.nodes().size(); ++id) {
    const Node& node = graph.nodes()[id];
    const bool named = (node.op == Op::kInput || node.op == Op::kAttr) && IsWord(node.name) &&
                       !std::isdigit(static_cast<unsigned char>(node.name[0]));
    labels.push_back(named && taken.insert(node.name).second ? node.name : std::to_string(id));
  }
  return labels;
}

std::string Line(const Graph& graph, NodeId id, std::span<const std::string> labels) {
  const Node& node = graph.node(id);
  std::string text =
      fmt::format("%{} = {}{}", labels[static_cast<size_t>(id)], OpName(node.op), FieldsText(node));
  for (size_t i = 0; i < node.args.size(); ++i) {
    text += fmt::format("{} %{}", i == 0 ? "" : ",", labels[static_cast<size_t>(node.args[i])]);
  }
  return text + " : " + TypesText(node);
}

std::string LocationText(const Span& span) {
  if (span.file.empty()) return "";
  const std::string symbol = span.symbol.empty() ? "" : ", " + QuotedText(span.symbol);
  return fmt::format(" loc({}:{}{})", QuotedText(span.file), span.line, symbol);
}

}  // namespace

std::string PrintGraph(const Graph& graph) {
  const std::vector<std::string> labels = Labels(graph);
  std::string text =
      fmt::format("graph {} {{\n", IsWord(graph.name()) ? graph.name() : QuotedText(graph.name()));
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    text += "  " + Line(graph, id, labels) + LocationText(graph.node(id).span) + "\n";
  }
  for (const Output& output : graph.outputs()) {
    text += fmt::format("  output {} = %{}", QuotedText(output.name),
                        labels[static_cast<size_t>(output.value)]);
    if (!output.in_place.empty()) text += " in_place " + QuotedText(output.in_place);
    if (!output.strides.empty()) {
      std::vector<std::string> strides;
      for (const Dim& stride : output.strides) strides.push_back(stride.text());
      text += " strides (" + Join(strides, ", ") + ")";
    }
    text += "\n";
  }
  return text + "}\n";
}

std::string NodeText(const Graph& graph, NodeId id) { return Line(graph, id, Labels(graph)); }

}  // namespace tenon::ir
