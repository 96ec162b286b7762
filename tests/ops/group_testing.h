// Groups of threads, and what their ranks are compared with.
#pragma once

#include <cmath>
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

// A group of threads; rank r knows it as "<prefix>r".
class Group {
 public:
  explicit Group(int size) : size_(size), ranks_(MakeThreadGroup(size)) {
    for (int rank = 0; rank < size; ++rank) {
      RegisterGroup(NameOf(rank), ranks_[static_cast<size_t>(rank)]);
    }
  }
  static std::string NameOf(int rank) { return fmt::format("group_test{}", rank); }

  // fn(rank, arena, group's name) on a thread per rank; the sentences of what was refused.
  template <typename Fn>
  std::vector<std::string> Run(Fn fn) {
    std::vector<std::string> sentences(static_cast<size_t>(size_));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size_; ++rank) {
      threads.emplace_back([&, rank] {
        Arena arena;
        try {
          fn(rank, arena, NameOf(rank));
        } catch (const UsageError& e) {
          sentences[static_cast<size_t>(rank)] = e.what();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return sentences;
  }

 private:
  int size_;
  std::vector<std::shared_ptr<Communicator>> ranks_;
};

inline std::vector<Values> Call(const char* op, std::vector<Argument> arguments) {
  std::vector<Values> results;
  for (const Buffer& y : Op::Find(op).Run(std::span<const Argument>(arguments))) {
    results.push_back(ValuesOf(y.tensor()));
  }
  return results;
}

inline constexpr int kSizes[] = {2, 4};

}  // namespace tenon::ops
