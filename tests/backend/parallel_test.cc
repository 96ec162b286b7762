#include "backend/cpu/parallel.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <vector>

#include "base/error.h"

namespace tenon::cpu {
namespace {

class ParallelForTest : public testing::TestWithParam<int> {
 protected:
  ParallelForTest() { SetNumThreads(GetParam()); }
  ~ParallelForTest() override { SetNumThreads(0); }
};

TEST_P(ParallelForTest, CoversEveryIterationOnce) {
  for (int64_t count : {0, 1, 2, 3, 5, 64, 1000}) {
    for (int64_t grain : {1, 2, 7, 5000}) {
      std::vector<std::atomic<int>> visits(count);
      ParallelFor(count, grain, [&](int64_t begin, int64_t end) {
        EXPECT_LT(begin, end);
        for (int64_t i = begin; i < end; ++i) ++visits[i];
      });
      for (const auto& v : visits) EXPECT_EQ(v, 1);
    }
  }
}

TEST_P(ParallelForTest, UsesNoMoreRangesThanTheGrainIsWorth) {
  std::atomic<int> ranges = 0;
  ParallelFor(10, 5, [&](int64_t, int64_t) { ++ranges; });
  EXPECT_LE(ranges, 2);
  EXPECT_LE(ranges, GetParam());
}

TEST_P(ParallelForTest, CarriesTheFirstRangesExceptionOut) {
  std::atomic<int> ranges = 0;
  try {
    ParallelFor(100, 1, [&](int64_t begin, int64_t) {
      ++ranges;
      throw std::runtime_error(std::to_string(begin));
    });
    FAIL() << "nothing thrown";
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "0");
  }
  EXPECT_EQ(ranges, GetParam());
}

TEST_P(ParallelForTest, NestedLoopsRunInline) {
  std::atomic<int> inner_ranges = 0;
  ParallelFor(GetParam(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      ParallelFor(100, 1, [&](int64_t, int64_t) { ++inner_ranges; });
    }
  });
  // One outer thread is no parallel region: its inner loops may fan out.
  EXPECT_EQ(inner_ranges, GetParam());
}

TEST_P(ParallelForTest, WorksInAForkedChild) {
  int64_t sum = 0;
  const auto add = [&](int64_t begin, int64_t end) { std::atomic_ref(sum) += end - begin; };
  ParallelFor(100, 1, add);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // a hang ends the child by a signal
    ParallelFor(100, 1, add);
    _exit(sum == 200 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

INSTANTIATE_TEST_SUITE_P(Threads, ParallelForTest, testing::Values(1, 2, 3, 4));

TEST(ParallelForHookTest, TakesTheLoopsThatAreWorthIt) {
  static int calls;
  calls = 0;
  SetParallelFor([](int64_t count, int64_t grain, RangeBody body, void* state) {
    ++calls;
    for (int64_t i = 0; i < count; i += grain) body(state, i, std::min(i + grain, count));
  });
  int64_t sum = 0;
  ParallelFor(10, 3, [&](int64_t begin, int64_t end) { sum += end - begin; });
  ParallelFor(3, 3, [&](int64_t begin, int64_t end) { sum += end - begin; });
  SetParallelFor(nullptr);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(sum, 13);
}

TEST(ParallelForHookTest, RefusesNegativeThreads) { EXPECT_THROW(SetNumThreads(-1), UsageError); }

}  // namespace
}  // namespace tenon::cpu
