// The text form of plans: golden tests, `tenon fuse` artefacts, --dump.
#include "base/error.h"
#include "emit/plan.h"

namespace tenon::emit {

using ir::Axis;
using ir::Graph;
using ir::Node;

namespace {

std::string AtText(const Graph& graph, const ValueAt& value) {
  std::string text = fmt::format("%{}:{}[", value.node, ir::OpName(graph.node(value.node).op));
  for (size_t i = 0; i < value.at.size(); ++i) text += (i ? ", " : "") + value.at[i].text();
  return text + "]";
}

constexpr const char* kRoleNames[] = {"row", "param", "table", "index"};

}  // namespace

std::string PlanText(const Graph& graph, const RowPlan& plan) {
  std::string text = fmt::format("plan {} rows={}\n", plan.name, plan.row_axis.name);
  for (const PlanTensor& t : plan.tensors) {
    text += fmt::format("  {} {} {} : {}{}\n", t.is_output ? "out" : "in",
                        kRoleNames[static_cast<int>(t.role)], t.name,
                        ir::TypeText({t.elem, t.axes}), t.may_be_one ? ", or one number" : "");
  }
  for (const Nest& nest : plan.nests) {
    text += "  nest";
    for (const Axis& axis : nest.rows) text += fmt::format(" {}={}", axis.name, axis.size.text());
    text += "\n";
    for (const Loop& loop : nest.loops) {
      const bool is_second = nest.second_part != 0 && &loop == &nest.loops[nest.second_part];
      if (is_second) text += "    second part\n";
      text += fmt::format("    loop level={} lanes={}\n", loop.level, loop.extent.text());
      for (const Reduction& r : loop.reductions) {
        const Node& node = graph.node(r.result.node);
        text += fmt::format("      reduce {} {} <- {}\n", ir::ReduceName(node.reduce),
                            AtText(graph, r.result), AtText(graph, r.argument));
      }
      for (const ValueAt& keep : loop.keeps) {
        text += fmt::format("      keep {}\n", AtText(graph, keep));
      }
      if (loop.stage) text += fmt::format("      stage {}\n", AtText(graph, *loop.stage));
      if (loop.quotient) {
        text += fmt::format("      quotient {} / {}\n", AtText(graph, loop.quotient->dividend),
                            AtText(graph, loop.quotient->divisor));
      }
      for (const Store& store : loop.stores) {
        text += fmt::format("      {} {}", store.is_copy ? "copy" : "store",
                            plan.tensors[store.tensor].name);
        for (const ValueAt& value : store.values) text += " " + AtText(graph, value);
        text += "\n";
      }
    }
  }
  return text;
}

}  // namespace tenon::emit
