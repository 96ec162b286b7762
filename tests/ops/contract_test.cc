// What every contract promises, and what the type refuses.
#include "ops/contract.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "ir/verifier.h"
#include "ops/registry.h"

namespace tenon::ops {
namespace {

TEST(Contracts, BodiesAreValidAndReadEveryInput) {
  for (const Operator& op : Operators()) {
    EXPECT_FALSE(op.contract().doc().empty()) << op.name();
    for (const Variant& variant : op.variants()) {
      SCOPED_TRACE(variant.graph.name());
      ir::Verify(variant.graph);
      const std::vector<int> uses = variant.graph.UseCounts();
      for (ir::NodeId input : variant.graph.inputs()) {
        EXPECT_GT(uses[static_cast<size_t>(input)], 0) << variant.graph.node(input).name;
      }
    }
  }
}

TEST(Contracts, EqualBodiesHaveEqualNames) {
  const Operator& op = *FindOperator("rms_norm_gated").op;
  std::set<std::string> names;
  for (const Variant& variant : op.variants()) names.insert(variant.name);
  EXPECT_EQ(op.variants().size(), 8u);
  EXPECT_EQ(names.size(), 5u) << "four with z, one without";
  const auto is_identifier = [](const std::string& text) {
    return std::all_of(text.begin(), text.end(),
                       [](unsigned char c) { return std::isalnum(c) || c == '_'; });
  };
  for (const Variant& variant : op.variants()) {
    EXPECT_TRUE(is_identifier(variant.graph.name())) << variant.graph.name();
  }
}

TEST(Contracts, AliasesOfChoices) {
  const Param& act = *FindOperator("rms_norm_gated").op->contract().FindParam("act");
  EXPECT_EQ(*ResolveChoice(act, "swish"), "silu");
  EXPECT_EQ(ResolveChoice(act, "gelu"), nullptr);
  EXPECT_THAT(ChoiceWords(act), ::testing::ElementsAre("silu", "sigmoid"));
}

Contract Doubling() {
  Contract c("test", "doubling");
  c.In("x", ir::Elem::Storage(), "..., width");
  c.Out("y", ir::Elem::Storage(), "..., width");
  return c;
}

TEST(Contracts, MistakesAreOurs) {
  Contract twice = Doubling();
  EXPECT_THROW(twice.Bool("x", false), InternalError) << "x is declared twice";

  Contract no_result = Doubling();
  no_result.Body([](ops::Body&) {});
  EXPECT_THROW(no_result.Variants(), InternalError);

  Contract not_rounded = Doubling();
  not_rounded.Body([](ops::Body& b) { b.Out("y", b.In("x") + b.In("x")); });
  EXPECT_THROW(not_rounded.Variants(), InternalError) << "y is f32 in the body, T in the contract";

  Contract unknown = Doubling();
  unknown.Body([](ops::Body& b) { b.Out("y", b.In("z")); });
  EXPECT_THROW(unknown.Variants(), InternalError);

  Contract form = Doubling();
  EXPECT_THROW(form.InPlace("doubling_", {{"y", "z"}}), InternalError);
  EXPECT_THROW(ParseShapes("width, ..."), InternalError);
  EXPECT_THROW(ParseShapes("..., width | width"), InternalError);
}

TEST(Shapes, Text) {
  const std::vector<Shape> shapes = ParseShapes("..., both=heads*size | ..., heads, size");
  ASSERT_EQ(shapes.size(), 2u);
  EXPECT_EQ(shapes[0].text(), "..., heads*size");
  EXPECT_EQ(shapes[0].axes[0].name, "both");
  EXPECT_EQ(shapes[1].rank(), 2);
  EXPECT_EQ(ParseShapes("hidden | 1 |")[2].rank(), 0);
  EXPECT_EQ(ParseShapes("n, ceil(n, 4)")[0].rank(), 2);
}

}  // namespace
}  // namespace tenon::ops
