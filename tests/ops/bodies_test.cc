// What holds for the body of every operator, in all of its variants.
#include <gmock/gmock.h>

#include "ir/normal_form.h"
#include "ir/parser.h"
#include "ir/printer.h"
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

}  // namespace
}  // namespace tenon::ops
