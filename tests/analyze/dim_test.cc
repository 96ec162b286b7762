#include "analyze/dim.h"

#include <gtest/gtest.h>

namespace tenon::analyze {
namespace {

TEST(Dim, PrintsAPolynomialWithTheConstantLast) {
  const Dim t = Dim::Symbol("T");
  const Dim d = Dim::Symbol("d");
  EXPECT_EQ(Dim(0).Text(), "0");
  EXPECT_EQ((t * 32 + 1).Text(), "32*T + 1");
  EXPECT_EQ((d * t - d * 2).Text(), "-2*d + T*d");
  EXPECT_EQ((t - t).Text(), "0");
  EXPECT_TRUE((t - t).IsConstant());
}

TEST(Dim, ParsesWhatItPrints) {
  for (const char* text : {"4096", "T", "2*d + 1", "T*d", "32*T + 1", "-2*d + T*d"}) {
    const std::string_view positive = text[0] == '-' ? "T*d - 2*d" : text;
    ASSERT_TRUE(Dim::Parse(positive)) << text;
    EXPECT_EQ(Dim::Parse(positive)->Text(), text);
  }
  EXPECT_EQ(Dim::Parse("(a + b)*3")->Text(), "3*b + 3*a");
  for (const char* text : {"", "2*", "a b", "3x", "(a", "a/2"}) EXPECT_FALSE(Dim::Parse(text));
}

TEST(Dim, DividesOnlyWithoutRemainder) {
  const Dim t = Dim::Symbol("T");
  EXPECT_EQ((t * 12).DividedBy(Dim(4)), t * 3);
  EXPECT_EQ((t * 12).DividedBy(t), Dim(12));
  EXPECT_FALSE((t * 12).DividedBy(Dim(5)));
  EXPECT_FALSE((t + 1).DividedBy(t));
  EXPECT_FALSE(t.DividedBy(Dim(0)));
}

TEST(Dim, EvaluatesWhenEverySymbolHasAValue) {
  const Dim size = Dim::Symbol("T") * Dim::Symbol("d") + 1;
  EXPECT_EQ(size.Evaluate({{"T", 3}, {"d", 5}}), 16);
  EXPECT_FALSE(size.Evaluate({{"T", 3}}));
}

}  // namespace
}  // namespace tenon::analyze
