#include "base/text.h"

#include <gmock/gmock.h>

namespace tenon {
namespace {

TEST(Text, EditDistance) {
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
  EXPECT_EQ(EditDistance("", "abc"), 3);
}

TEST(Text, NearestNamesAreSortedAndBounded) {
  const std::vector<std::string> names = {"Qwen3ForCausalLM", "Qwen2ForCausalLM",
                                          "LlamaForCausalLM"};
  EXPECT_THAT(NearestNames("qwen3forcausallm", names),
              testing::ElementsAre("Qwen3ForCausalLM", "Qwen2ForCausalLM"));
  EXPECT_TRUE(NearestNames("Nothing", names).empty());
}

TEST(Text, SplitKeepsEmptyParts) {
  EXPECT_THAT(Split("a,,b", ','), testing::ElementsAre("a", "", "b"));
}

}  // namespace
}  // namespace tenon
