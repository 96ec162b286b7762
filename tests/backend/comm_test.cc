// Collectives between threads.
#include "tenon/comm.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <numeric>
#include <thread>

#include "base/dtype.h"
#include "base/error.h"

namespace tenon {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Runs fn(communicator) on a thread per rank; gives the sentences of those that were refused.
template <typename Fn>
std::vector<std::string> RunRanks(const std::vector<std::shared_ptr<Communicator>>& ranks, Fn fn) {
  std::vector<std::string> sentences(ranks.size());
  std::vector<std::thread> threads;
  for (const auto& rank : ranks) {
    threads.emplace_back([&, rank] {
      try {
        fn(*rank);
      } catch (const UsageError& e) {
        sentences[static_cast<size_t>(rank->rank())] = e.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return sentences;
}

template <typename Fn>
std::vector<std::string> RunRanks(int size, Fn fn) {
  return RunRanks(MakeThreadGroup(size), fn);
}

class Timeout {
 public:
  explicit Timeout(const char* seconds) { setenv("TENON_COMM_TIMEOUT", seconds, 1); }
  ~Timeout() { unsetenv("TENON_COMM_TIMEOUT"); }
};

TEST(Comm, MovesBlocks) {
  for (int size : {1, 2, 4}) {
    const auto sentences = RunRanks(size, [&](Communicator& c) {
      const int r = c.rank();
      std::vector<int32_t> in(static_cast<size_t>(2 * size));
      std::iota(in.begin(), in.end(), 100 * r);
      std::vector<int32_t> out(in.size());
      c.AllToAll(in.data(), out.data(), 2, DType::kI32);
      std::vector<int32_t> gathered(in.size());
      c.AllGather(in.data(), gathered.data(), 2, DType::kI32);
      for (int from = 0; from < size; ++from) {
        const auto at = static_cast<size_t>(2 * from);
        EXPECT_EQ(out[at], 100 * from + 2 * r);
        EXPECT_EQ(out[at + 1], 100 * from + 2 * r + 1);
        EXPECT_EQ(gathered[at], 100 * from);
        EXPECT_EQ(gathered[at + 1], 100 * from + 1);
      }
      c.Broadcast(in.data(), 2, DType::kI32, size - 1);
      EXPECT_EQ(in[1], 100 * (size - 1) + 1);
      c.Barrier();
    });
    EXPECT_THAT(sentences, Each(""));
  }
}

// One message, and a block for each rank; counts that no number of ranks divides.
TEST(Comm, SumsInTheOrderOfRanks) {
  for (int size : {2, 4}) {
    for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
      for (int64_t count : {int64_t{1}, int64_t{7}, int64_t{20001}}) {
        const auto value = [](int rank, int64_t i) {
          return std::sin(static_cast<double>(i) + 0.7 * rank) * std::exp2(3 * rank);
        };
        std::vector<float> expected(static_cast<size_t>(count));
        for (int64_t i = 0; i < count; ++i) {
          float sum = 0;
          for (int rank = 0; rank < size; ++rank) {
            const auto term = static_cast<float>(RoundTo(value(rank, i), dtype));
            sum = rank == 0 ? term : sum + term;
          }
          expected[static_cast<size_t>(i)] = static_cast<float>(RoundTo(sum, dtype));
        }
        const auto sentences = RunRanks(size, [&](Communicator& c) {
          std::vector<float> in(static_cast<size_t>(count));
          std::vector<float> out(in.size());
          for (int64_t i = 0; i < count; ++i) StoreElement(in.data(), dtype, i, value(c.rank(), i));
          c.AllReduce(in.data(), out.data(), count, dtype);
          for (int64_t i = 0; i < count; ++i) {
            ASSERT_EQ(LoadElement(out.data(), dtype, i), expected[static_cast<size_t>(i)]);
          }
        });
        EXPECT_THAT(sentences, Each(""));
      }
    }
  }
}

TEST(Comm, ReduceScatterKeepsABlock) {
  const auto sentences = RunRanks(2, [](Communicator& c) {
    const float k = c.rank() == 0 ? 1.0F : 10.0F;
    const std::vector<float> in = {1 * k, 2 * k, 3 * k, 4 * k};
    std::vector<float> out(2);
    c.ReduceScatter(in.data(), out.data(), 2, DType::kF32);
    EXPECT_THAT(out, c.rank() == 0 ? ElementsAre(11, 22) : ElementsAre(33, 44));
  });
  EXPECT_THAT(sentences, Each(""));
}

TEST(Comm, RanksThatDisagreeAreAllRefusedAndGoOn) {
  const auto ranks = MakeThreadGroup(2);
  const std::vector<float> in(8);
  std::vector<std::vector<float>> out(2, std::vector<float>(16));
  const auto at = [&](const Communicator& c) { return out[static_cast<size_t>(c.rank())].data(); };
  const auto shapes = RunRanks(
      ranks, [&](Communicator& c) { c.AllReduce(in.data(), at(c), 3 + c.rank(), DType::kF32); });
  EXPECT_THAT(shapes, Each("the ranks of the group do not agree: rank 0 calls all_reduce of 3 f32, "
                           "rank 1 calls all_reduce of 4 f32"));
  const auto calls = RunRanks(ranks, [&](Communicator& c) {
    if (c.rank() == 0) c.Barrier();
    if (c.rank() == 1) c.AllGather(in.data(), at(c), 4, DType::kBF16);
  });
  EXPECT_THAT(calls, Each("the ranks of the group do not agree: rank 0 calls barrier, rank 1 calls "
                          "all_gather of 4 bf16"));
  EXPECT_THAT(RunRanks(ranks, [](Communicator& c) { c.Barrier(); }), Each(""));
}

TEST(Comm, ARankThatDoesNotComeEndsTheGroup) {
  const Timeout timeout("0.2");
  const auto ranks = MakeThreadGroup(4);
  const auto sentences = RunRanks(ranks, [](Communicator& c) {
    if (c.rank() != 2) c.Barrier();
  });
  for (size_t rank : {0, 1, 3}) {
    EXPECT_EQ(sentences[rank], "not every rank of the group came within 0.2 seconds");
  }
  const auto later = RunRanks(ranks, [](Communicator& c) { c.Barrier(); });
  EXPECT_THAT(later[0], HasSubstr("the group cannot be used any more: not every rank"));
  EXPECT_EQ(later[2], "a rank of the group has given up");
}

TEST(Comm, WhatIsRefused) {
  Communicator& self = *FindGroup("");
  EXPECT_EQ(self.size(), 1);
  int32_t x = 1;
  int32_t y = 0;
  EXPECT_THROW(self.AllReduce(&x, &y, 1, DType::kI32), UsageError);
  EXPECT_THROW(self.AllGather(&x, &y, -1, DType::kI32), UsageError);
  EXPECT_THROW(self.Broadcast(&x, 1, DType::kI32, 1), UsageError);
  EXPECT_THROW(FindGroup("nobody"), UsageError);
  EXPECT_THROW(RegisterGroup("", MakeThreadGroup(1)[0]), UsageError);
  EXPECT_THROW(RegisterGroup("x", nullptr), UsageError);
  const Timeout timeout("soon");
  EXPECT_THROW(MakeThreadGroup(2)[0]->Barrier(), UsageError);
}

TEST(Comm, GroupsHaveNames) {
  const auto ranks = MakeThreadGroup(2);
  RegisterGroup("comm_test", ranks[1]);
  EXPECT_EQ(FindGroup("comm_test"), ranks[1]);
  SetGroupFinder([](const char* name) {
    if (std::string_view(name) != "late") return 1;
    RegisterGroup(name, MakeThreadGroup(1)[0]);
    return 0;
  });
  EXPECT_EQ(FindGroup("late")->size(), 1);
  EXPECT_THROW(FindGroup("never"), UsageError);
  SetGroupFinder(nullptr);
  EXPECT_EQ(FindGroup("late")->size(), 1) << "it is registered";
}

}  // namespace
}  // namespace tenon
