// Groups of threads, and what their ranks are compared with. Under mpirun (TENON_TEST_MPI is the
// number of processes): the group of all processes, of which each runs its own rank.
#pragma once

#include <cmath>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "ops/arena.h"
#include "tenon/comm.h"
#include "tenon/op.h"

namespace tenon::ops {

using Values = std::vector<double>;

inline double ValueAt(int64_t i) {
  return std::nearbyint(64 * std::sin(1.7 * static_cast<double>(i))) / 16;
}

// Numbers with few bits, so that sums are exact whatever their order.
inline Values Sample(int64_t count, int64_t seed) {
  Values values;
  for (int64_t i = 0; i < count; ++i) values.push_back(ValueAt(i + 1000 * seed));
  return values;
}

// 0: there are none.
inline int NumProcesses() {
  const char* number = std::getenv("TENON_TEST_MPI");
  return number != nullptr ? std::atoi(number) : 0;
}

// How many ranks tests have.
inline const std::vector<int> kSizes =
    NumProcesses() > 0 ? std::vector<int>{NumProcesses()} : std::vector<int>{2, 4};

// Rank r of it knows it as "group_test<r>".
class Group {
 public:
  explicit Group(int size) {
    if (NumProcesses() > 0) {
      ranks_ = {MakeMpiGroup()};
    } else {
      ranks_ = MakeThreadGroup(size);
    }
    TENON_ASSERT(ranks_[0]->size() == size, "the group has {} ranks", ranks_[0]->size());
    for (const auto& rank : ranks_) RegisterGroup(NameOf(rank->rank()), rank);
  }
  static std::string NameOf(int rank) { return fmt::format("group_test{}", rank); }

  // fn(rank, arena, group's name) on a thread per rank; the sentences of what was refused.
  template <typename Fn>
  std::vector<std::string> Run(Fn fn) {
    std::vector<std::string> sentences(ranks_.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < ranks_.size(); ++i) {
      threads.emplace_back([&, i, rank = ranks_[i]->rank()] {
        Arena arena;
        try {
          fn(rank, arena, NameOf(rank));
        } catch (const UsageError& e) {
          sentences[i] = e.what();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return sentences;
  }

 private:
  std::vector<std::shared_ptr<Communicator>> ranks_;  // those of this process
};

inline std::vector<Values> Call(const char* op, std::vector<Argument> arguments) {
  std::vector<Values> results;
  for (const Buffer& y : Op::Find(op).Run(std::span<const Argument>(arguments))) {
    results.push_back(ValuesOf(y.tensor()));
  }
  return results;
}

}  // namespace tenon::ops
