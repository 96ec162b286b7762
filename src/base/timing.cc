#include "base/timing.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace tenon {
namespace {

double MicrosecondsOf(int64_t calls, const std::function<void()>& function) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  for (int64_t i = 0; i < calls; ++i) function();
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count() /
         static_cast<double>(calls);
}

double Quantile(const std::vector<double>& sorted, double q) {
  return sorted[static_cast<size_t>(q * static_cast<double>(sorted.size() - 1) + 0.5)];
}

}  // namespace

std::vector<Sample> TimeInTurn(const std::vector<std::function<void()>>& functions,
                               const TimingOptions& options) {
  std::vector<int64_t> calls;
  for (const auto& function : functions) {
    function();  // warms caches and wakes threads up
    const double once = std::max(MicrosecondsOf(1, function), 0.01);
    calls.push_back(std::max<int64_t>(1, static_cast<int64_t>(options.sample_us / once)));
  }
  std::vector<std::vector<double>> times(functions.size());
  for (int repeat = 0; repeat < options.repeats; ++repeat) {
    for (size_t i = 0; i < functions.size(); ++i) {
      times[i].push_back(MicrosecondsOf(calls[i], functions[i]));
    }
  }
  std::vector<Sample> samples;
  for (std::vector<double>& t : times) {
    std::sort(t.begin(), t.end());
    const double median = Quantile(t, 0.5);
    samples.push_back({median, (Quantile(t, 0.75) - Quantile(t, 0.25)) / median});
  }
  return samples;
}

}  // namespace tenon
