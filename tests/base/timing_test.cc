#include "base/timing.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(Timing, RunsEveryFunctionInTurn) {
  int first = 0;
  int second = 0;
  const auto samples =
      TimeInTurn({[&] { ++first; }, [&] { ++second; }}, {.repeats = 5, .sample_us = 1});
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_GE(first, 5);
  EXPECT_GE(second, 5);
  EXPECT_GT(samples[0].median_us, 0.0);
  EXPECT_GE(samples[0].spread, 0.0);
}

}  // namespace
}  // namespace tenon
