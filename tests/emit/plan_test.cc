#include "emit/plan.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "bodies.h"
#include "emit/emit_cpp.h"

namespace tenon::emit {
namespace {

using namespace ir;  // NOLINT

TEST(RowPlan, ReductionEndsALoop) {
  const RowPlan plan = MakeRowPlan(AddRmsNorm());
  ASSERT_EQ(plan.nests.size(), 1u);
  const std::vector<Loop>& loops = plan.nests[0].loops;
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loops[0].reductions.size(), 1u);
  EXPECT_EQ(loops[0].stores.size(), 1u);  // the residual needs no statistic
  EXPECT_EQ(loops[1].stores.size(), 1u);
  // x and residual may be overwritten by then: the sum is kept, not computed again.
  EXPECT_EQ(loops[0].keeps.size(), 1u);
}

TEST(RowPlan, HalvesShareALoopAndTheRestIsACopy) {
  const RowPlan plan = MakeRowPlan(Rope(/*is_neox=*/true));
  ASSERT_EQ(plan.nests.size(), 1u);
  ASSERT_EQ(plan.nests[0].rows.size(), 1u);
  EXPECT_EQ(plan.nests[0].rows[0].name, "heads");
  const std::vector<Loop>& loops = plan.nests[0].loops;
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loops[0].extent, Dim("half"));
  EXPECT_EQ(loops[0].stores.size(), 2u);
  EXPECT_TRUE(loops[1].stores[0].is_copy);
}

TEST(RowPlan, PairsAreStoredTogether) {
  const RowPlan plan = MakeRowPlan(Rope(/*is_neox=*/false));
  const Store& store = plan.nests[0].loops[0].stores[0];
  EXPECT_EQ(store.values.size(), 2u);
  EXPECT_EQ(store.at.back(), Dim("2*lane"));
}

TEST(RowPlan, GroupsBecomeALoop) {
  const RowPlan plan = MakeRowPlan(GroupNorm());
  ASSERT_EQ(plan.nests[0].rows.size(), 1u);
  EXPECT_EQ(plan.nests[0].rows[0].name, "groups");
  EXPECT_EQ(plan.nests[0].loops[0].extent, Dim("size"));
}

TEST(RowPlan, IsAFunctionOfTheGraphAlone) {
  EXPECT_EQ(PlanText(Rope(true), MakeRowPlan(Rope(true))),
            PlanText(Rope(true), MakeRowPlan(Rope(true))));
}

TEST(EmitCpp, PairsOfAnInputThatIsNotThereAreNotLoaded) {
  Builder b("scaled_pairs");
  const std::vector<Axis> row = {NamedAxis("tokens"), {"width", "2*half"}};
  const Value x = b.Input("x", Elem::Storage(), row);
  const Value w = b.OptionalInput("weight", Elem::Param(), {row[1]}, 1.0);
  const Value pairs = SplitAxis(x * w, "width", {NamedAxis("half"), {"pair", 2}});
  b.Output("y", Round(Pick(pairs, "pair", 0) + Pick(pairs, "pair", 1), Elem::Storage()));
  const std::string text = EmitCppRuntimeFile({"scaled_pairs", "", "", &b.graph()}, DType::kF32);
  EXPECT_THAT(text, testing::HasSubstr("if (has_weight) LoadPairs(chunk, weight, "));
}

std::string WhyNot(Builder& b) {
  try {
    EmitCppRuntimeFile({b.graph().name(), "", "", &b.graph()}, DType::kF32);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "emitted";
}

TEST(RowPlan, SaysWhatItCannotDo) {
  Builder no_output("empty");
  EXPECT_EQ(WhyNot(no_output), "empty: the graph has no output");

  Builder total("total");
  const Value x = total.Input("x", DType::kF32, {NamedAxis("tokens"), NamedAxis("hidden")});
  total.Output("y", Sum(Sum(x, "hidden"), "tokens"));
  EXPECT_EQ(WhyNot(total), "total: output y is a scalar; row-wise operators have a row axis");

  Builder columns("columns");
  const Value c =
      columns.Input("x", DType::kF32, {NamedAxis("tokens"), NamedAxis("heads"), NamedAxis("dim")});
  columns.Output(
      "y", Round(Broadcast(Sum(c, "heads"), {NamedAxis("tokens"), NamedAxis("dim")}), DType::kF32));
  EXPECT_THAT(WhyNot(columns),
              testing::HasSubstr("elements of x are not neighbours in the loop over lanes"));
}

}  // namespace
}  // namespace tenon::emit
