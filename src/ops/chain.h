// The unfused form of a fused operator: the chain of Tenon operators that it replaces. By rule R
// both return the same bits; the bench compares their times.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ops/case.h"

namespace tenon::ops {

// Calls in order, with memory of their own for what lies between them.
class Chain {
 public:
  void Run() const {
    for (const auto& step : steps_) step();
  }

 private:
  friend std::optional<Chain> UnfusedChain(const Case& fused);
  std::vector<std::function<void()>> steps_;
  std::vector<Buffer> buffers_;
};

// On the arguments of `fused`. None for an operator that stands for no chain of operators.
std::optional<Chain> UnfusedChain(const Case& fused);

}  // namespace tenon::ops
