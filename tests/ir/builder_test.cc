#include "ir/builder.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace tenon::ir {
namespace {

const Axis kTokens = NamedAxis("tokens");
const Axis kHidden = NamedAxis("hidden");

TEST(Builder, ReadsLikeTheFormula) {
  Builder b("rms_norm");
  const Value x = b.Input("x", Elem::Storage(), {kTokens, kHidden});
  const Value w = b.OptionalInput("weight", Elem::Param(), {kHidden}, 1.0);
  const Value y = Round(x * Rsqrt(Mean(x * x, "hidden") + b.Attr("eps")) * w, Elem::Storage());
  b.Output("y", y);
  EXPECT_EQ(TypeText(y.type()), "T[tokens, hidden]");
  EXPECT_EQ(b.graph().inputs().size(), 2u);
}

TEST(Builder, EqualNodesAreOne) {
  Builder b("square");
  const Value x = b.Input("x", DType::kF32, {kTokens});
  EXPECT_EQ((x * x).id(), (x * x).id());
  EXPECT_NE((x * 2.0).id(), (x * 3.0).id());
  EXPECT_NE(b.Const(0.0).id(), b.Const(-0.0).id());
}

TEST(Builder, RefusesAxesThatDoNotFit) {
  Builder b("bad");
  const Value x = b.Input("x", DType::kF32, {kTokens, kHidden});
  const Value y = b.Input("y", DType::kF32, {{"hidden", "2*hidden"}});
  try {
    x + y;
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_STREQ(e.what(), "add: f32[hidden=2*hidden] does not broadcast to f32[tokens, hidden]");
  }
  EXPECT_THROW(Mean(x, "heads"), UsageError);
  EXPECT_THROW(Reshape(x, {{"flat", "tokens + hidden"}}), UsageError);
}

TEST(Builder, InterleavedPairs) {
  Builder b("pairs");
  const Value x = b.Input("x", Elem::Storage(), {kTokens, {"width", "2*d"}});
  const Value pairs = SplitAxis(x, "width", {{"d", "d"}, {"pair", 2}});
  const Value even = Pick(pairs, "pair", 0);
  const Value odd = Pick(pairs, "pair", 1);
  EXPECT_EQ(TypeText(even.type()), "T[tokens, d]");
  const Value back = MergeAxes(Stack({odd, even}, "pair"), "d", "pair", "width");
  EXPECT_EQ(TypeText(back.type()), "T[tokens, width=2*d]");
}

}  // namespace
}  // namespace tenon::ir
