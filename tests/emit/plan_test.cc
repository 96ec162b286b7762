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
  EXPECT_EQ(plan.nests[0].second_part, 1u) << "the statistics of several groups come first";
}

// x [tokens, groups*size] normalised as a whole, then each group by its largest magnitude.
Graph NormThenGroups() {
  Builder b("norm_then_groups");
  const std::vector<Axis> groups = {NamedAxis("groups"), NamedAxis("size")};
  const Value x = b.Input("x", Elem::Storage(), {NamedAxis("tokens"), {"hidden", "groups*size"}});
  const Value normal = Round(x * Rsqrt(Mean(x * x, "hidden")), Elem::Storage());
  const Value parts = SplitAxis(normal, "hidden", groups);
  b.Output("y", Round(parts / Amax(parts, "size"), Elem::Storage()));
  return b.Take();
}

TEST(RowPlan, AStatisticOfTheRowComesBeforeItsGroups) {
  const RowPlan plan = MakeRowPlan(NormThenGroups());
  ASSERT_EQ(plan.nests.size(), 2u);
  EXPECT_TRUE(plan.nests[0].rows.empty());
  ASSERT_EQ(plan.nests[0].loops.size(), 1u);
  EXPECT_EQ(plan.nests[0].loops[0].extent, Dim("groups*size"));
  EXPECT_EQ(plan.nests[0].loops[0].reductions.size(), 1u);
  EXPECT_EQ(plan.nests[1].rows[0].name, "groups");
  for (const Loop& loop : plan.nests[1].loops) EXPECT_EQ(loop.extent, Dim("size"));
}

// y [tokens, heads, dim] = x * exp(sin(angle)) with one angle per token and element.
TEST(RowPlan, WhatDoesNotVaryOverHeadsIsKept) {
  Builder b("scaled_heads");
  const Axis dim = NamedAxis("dim");
  const Value x = b.Input("x", Elem::Storage(), {NamedAxis("tokens"), NamedAxis("heads"), dim});
  const Value angle = b.Input("angle", Elem::Param(), {NamedAxis("tokens"), dim});
  b.Output("y", Round(x * Exp(Sin(angle)), Elem::Storage()));
  const RowPlan plan = MakeRowPlan(b.graph());
  ASSERT_EQ(plan.nests.size(), 2u);
  EXPECT_TRUE(plan.nests[0].rows.empty());
  ASSERT_EQ(plan.nests[0].loops.size(), 1u);
  EXPECT_EQ(plan.nests[0].loops[0].keeps.size(), 1u);
  EXPECT_THAT(EmitCppLibraryFile("scaled_heads", {{"scaled_heads", "", "", &b.graph()}}, "a.cc"),
              ::testing::ContainsRegex("Load\\(chunk, kept"));
}

TEST(RowPlan, PartsOfAnInputAreWrittenInPlace) {
  Builder b("first_heads");
  const Axis dim = NamedAxis("dim");
  const Value x = b.Input("x", Elem::Storage(), {NamedAxis("tokens"), NamedAxis("heads"), dim});
  const Value part = Slice(x, "heads", "skip", NamedAxis("some"));
  const Value y = WriteSlice(x, Round(part + part, Elem::Storage()), 1, "skip");
  b.Output("y", y, "x");
  const RowPlan plan = MakeRowPlan(b.graph());
  ASSERT_EQ(plan.nests.size(), 1u);
  EXPECT_EQ(plan.nests[0].rows[0].name, "some");
  EXPECT_EQ(plan.nests[0].loops[0].stores[0].at[1], Dim("skip + some_at"));

  Builder fresh("first_heads");
  const Value z = fresh.Input("x", Elem::Storage(), {NamedAxis("tokens"), dim});
  fresh.Output("y",
               WriteSlice(z, Round(Slice(z, "dim", 0, {"some", 1}) + 1.0, Elem::Storage()), 1, 0));
  EXPECT_THROW(MakeRowPlan(fresh.graph()), UsageError) << "the rest would have to be copied";
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
