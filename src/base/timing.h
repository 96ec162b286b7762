// Timing that neighbours on the machine disturb as little as possible: alternatives run in turn,
// and what counts is the median.
#pragma once

#include <functional>
#include <vector>

namespace tenon {

struct TimingOptions {
  int repeats = 9;
  double sample_us = 500;  // a sample is at least this long, so that the clock does not count
};

struct Sample {
  double median_us = 0;
  double spread = 0;  // (third quartile - first quartile) / median
};

// One call of each function, in microseconds: each repeat times every function once, one after the
// other, over as many calls as fill a sample. All have been called before.
std::vector<Sample> TimeInTurn(const std::vector<std::function<void()>>& functions,
                               const TimingOptions& options = {});

}  // namespace tenon
