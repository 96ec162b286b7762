#include "emit/index.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace tenon::emit {
namespace {

using ir::Axis;
using ir::Dim;

const Extents kExtents = {{"heads_at", "heads"}, {"lane", "half"}};

TEST(DivideIndex, ProvesTheRemainder) {
  const auto split = DivideIndex("2*half*heads_at + lane + half", "2*half", kExtents);
  ASSERT_TRUE(split.has_value());
  EXPECT_EQ(split->first, Dim("heads_at"));
  EXPECT_EQ(split->second, Dim("lane + half"));
}

TEST(DivideIndex, RefusesWhatMayLeaveTheRow) {
  EXPECT_FALSE(DivideIndex("lane + half", "half", {{"lane", "2*half"}}).has_value());
  EXPECT_FALSE(DivideIndex("lane", "size", kExtents).has_value());  // half against size: unknown
}

TEST(DivideIndex, SplitsPairs) {
  const auto odd = DivideIndex("2*lane + 1", 2, kExtents);
  ASSERT_TRUE(odd.has_value());
  EXPECT_EQ(odd->first, Dim("lane"));
  EXPECT_EQ(odd->second, Dim(1));
}

TEST(GroupAxes, SplitsMergesAndOnes) {
  const std::vector<Axis> packed = {ir::NamedAxis("tokens"), {"width", "heads*d"}};
  const std::vector<Axis> split = {ir::NamedAxis("tokens"), ir::NamedAxis("heads"),
                                   ir::NamedAxis("d")};
  const auto groups = GroupAxes(packed, split);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_THAT(groups[1].from, testing::ElementsAre(1));
  EXPECT_THAT(groups[1].to, testing::ElementsAre(1, 2));

  const auto trailing = GroupAxes({ir::NamedAxis("d"), {"one", 1}}, {ir::NamedAxis("d")});
  ASSERT_EQ(trailing.size(), 1u);
  EXPECT_THAT(trailing[0].from, testing::ElementsAre(0, 1));
}

TEST(GroupAxes, RefusesSizesThatDoNotGroup) {
  EXPECT_THROW(GroupAxes({ir::NamedAxis("a")}, {ir::NamedAxis("b")}), UsageError);
}

}  // namespace
}  // namespace tenon::emit
