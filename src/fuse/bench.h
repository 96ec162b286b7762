// Fused kernel against unfused chain, same process, same inputs, interleaved.
#pragma once

#include <vector>

#include "fuse/chain_run.h"

namespace tenon::fuse {

struct Timing {
  int64_t tokens = 0;
  double fused_us = 0;  // medians
  double chain_us = 0;
  int repeats = 0;
  double speedup() const { return chain_us / fused_us; }
};

// The least speedup that counts as a gain: two medians of one kernel differ by about 2 %.
inline constexpr double kLeastSpeedup = 1.03;

std::vector<Timing> Bench(const Kernel& fused, const UnfusedKernels& chain,
                          const std::vector<int64_t>& tokens, const ScalarMap& scalars,
                          const ir::Bindings& given_sizes, int repeats);

}  // namespace tenon::fuse
