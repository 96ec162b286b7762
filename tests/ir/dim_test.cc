#include "ir/dim.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace tenon::ir {
namespace {

TEST(Dim, NormalFormComparesEqual) {
  EXPECT_EQ(Dim("2*d + d"), Dim("3*d"));
  EXPECT_EQ(Dim("(heads + 2*kv)*d"), Dim("d*heads + d*kv*2"));
  EXPECT_EQ(Dim("d - d"), Dim(0));
  EXPECT_EQ(Dim("2*d//2"), Dim("d"));
  EXPECT_EQ(Dim("7//2"), Dim(3));
  EXPECT_EQ(Dim("ceil(7, 2)"), Dim(4));
  EXPECT_FALSE(Dim("d//2") == Dim("d"));
}

TEST(Dim, TextHasTheNumberLast) {
  EXPECT_EQ(Dim("1 + 32*tokens").text(), "32*tokens + 1");
  EXPECT_EQ(Dim("-4 + (a + b)*3").text(), "3*a + 3*b - 4");
  EXPECT_EQ(Dim("2 - d").text(), "-d + 2");
}

TEST(Dim, TextReadsBack) {
  for (const char* text :
       {"tokens", "2*d", "ceil(n, 4)", "(d//2) + 1", "-3*a*b + c", "0", "((a + b)//c)*d"}) {
    EXPECT_EQ(Dim(Dim(text).text()), Dim(text)) << text;
  }
}

TEST(Dim, EvaluatesWithFloorAndCeil) {
  const Bindings bindings = {{"n", 7}, {"g", 2}};
  EXPECT_EQ(Dim("n//g").Eval(bindings), 3);
  EXPECT_EQ(Dim("ceil(n, g)").Eval(bindings), 4);
  EXPECT_EQ(Dim("g*(n//g) - n").Eval(bindings), -1);
}

TEST(Dim, DividesExactlyWithoutRemainder) {
  const Dim t("t");
  EXPECT_EQ(Dim::DivideExactly(t * 12, 4), t * 3);
  EXPECT_EQ(Dim::DivideExactly(t * 12, t), Dim(12));
  EXPECT_EQ(Dim::DivideExactly(t + 1, t + 1), Dim(1));
  EXPECT_EQ(Dim::DivideExactly(t * 12, 5), std::nullopt);
  EXPECT_EQ(Dim::DivideExactly(t + 1, t), std::nullopt);
  EXPECT_EQ(Dim::DivideExactly(t, 0), std::nullopt);
  EXPECT_EQ(Dim::DivideExactly(0, 0), std::nullopt);
}

TEST(Dim, TriesToEvaluate) {
  const Dim size("t*d + 1");
  EXPECT_EQ(size.TryEval({{"t", 3}, {"d", 5}}), 16);
  EXPECT_EQ(size.TryEval({{"t", 3}}), std::nullopt);
}

TEST(Dim, ShapesHaveTextAndProduct) {
  const std::vector<Dim> shape = {"tokens", 2, "d"};
  EXPECT_EQ(DimsText(shape), "[tokens, 2, d]");
  EXPECT_EQ(Product(shape), Dim("2*d*tokens"));
  EXPECT_EQ(Product({}), Dim(1));
}

TEST(Dim, SolvesTheOnlyUnknown) {
  const Bindings bindings = {{"d", 128}};
  EXPECT_EQ(Dim("heads*d").Solve(4096, bindings), (std::pair<std::string, int64_t>{"heads", 32}));
  EXPECT_EQ(Dim("2*c + 1").Solve(9, {}), (std::pair<std::string, int64_t>{"c", 4}));
  EXPECT_EQ(Dim("2*c").Solve(9, {}), std::nullopt);
  EXPECT_EQ(Dim("a*b").Solve(9, {}), std::nullopt);
  EXPECT_EQ(Dim("d").Solve(128, bindings), std::nullopt);
}

TEST(Dim, ErrorsNameTheExpression) {
  EXPECT_THROW(Dim("2*"), UsageError);
  EXPECT_THROW(Dim("a b"), UsageError);
  EXPECT_THROW(Dim("n//0"), UsageError);
  EXPECT_THROW(Dim("99999999999999999999"), UsageError);
  for (const char* text : {"", "2*", "3x", "(a", "a/2"}) EXPECT_EQ(Dim::Parse(text), std::nullopt);
  try {
    Dim("tokens*hidden").Eval({{"tokens", 1}});
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_STREQ(e.what(), "size 'hidden' has no value");
  }
}

}  // namespace
}  // namespace tenon::ir
