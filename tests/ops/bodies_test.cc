// What holds for the body of every operator, in all of its variants.
#include <gmock/gmock.h>

#include "ir/normal_form.h"
#include "ir/parser.h"
#include "ir/printer.h"
#include "ir/transform.h"
#include "ir/verifier.h"
#include "ops/registry.h"

namespace tenon::ops {
namespace {

template <typename Fn>
void ForEachBody(Fn fn) {
  for (const Operator& op : Operators()) {
    for (const Variant& variant : op.variants()) fn(variant.graph);
  }
}

TEST(Bodies, ReadBackFromTheirText) {
  ForEachBody([](const ir::Graph& body) {
    const std::string text = ir::PrintGraph(body);
    EXPECT_EQ(ir::PrintGraph(ir::ParseGraph(text)), text);
  });
}

TEST(Bodies, LoseNothingInNormalForm) {
  ForEachBody([](const ir::Graph& body) {
    const ir::Graph normal = ir::NormalForm(body);
    EXPECT_EQ(ir::FindViolation(normal), std::nullopt);
    EXPECT_EQ(ir::FindLoss(body, normal), std::nullopt) << body.name();
  });
}

// Every body can be run at sizes that are drawn for it: a rewrite that changes it is seen.
TEST(Bodies, AnotherFirstOutputIsSeen) {
  ForEachBody([](const ir::Graph& body) {
    ir::GraphCopy copy(body);
    for (ir::NodeId id = 0; id < static_cast<ir::NodeId>(body.nodes().size()); ++id) {
      copy.Set(id, copy.Add(copy.Remapped(id)));
    }
    ir::Node negated;
    negated.op = ir::Op::kNeg;
    negated.args = {copy[body.outputs()[0].value]};
    const ir::NodeId other = copy.Add(std::move(negated));
    for (ir::Output output : body.outputs()) {
      output.value = copy.graph().outputs().empty() ? other : copy[output.value];
      copy.graph().AddOutput(std::move(output));
    }
    EXPECT_NE(ir::FindDifference(body, copy.graph()), std::nullopt) << body.name();
  });
}

}  // namespace
}  // namespace tenon::ops
