#include "ops/bench.h"

#include <algorithm>

#include "backend/cpu/bandwidth.h"
#include "backend/cpu/parallel.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/timing.h"
#include "ops/chain.h"
#include "ops/compare.h"
#include "ops/dispatch.h"
#include "ops/generated_row.h"
#include "tenon/op.h"

namespace tenon::ops {
namespace {

// Two sizes that stay in L1 with arguments, results and scratch rows; the difference of their times
// is arithmetic alone, without what a call costs.
constexpr int64_t kL1Bytes = 8 << 10;
constexpr int64_t kSmallBytes = 2 << 10;

// Rows that the reference, which is slow, is asked for.
constexpr int64_t kCheckedRows = 3;

int64_t TokensOf(const CaseSpec& spec) {
  int64_t tokens = 1;
  for (const int64_t size : spec.lead) tokens *= size;
  return tokens;
}

// Kernels do not depend on the number of rows (batch invariance is tested), so few rows are
// checked.
std::string CheckResult(CaseSpec spec) {
  spec.lead = {std::min(TokensOf(spec), kCheckedRows)};
  Case test(std::move(spec));
  Dispatch(test.call(), test.OutputViews());
  return DeviationFromReference(test);
}

// The case with one row of at most `most` bytes: the size that counts most is halved.
Case SmallCase(CaseSpec spec, int64_t most) {
  spec.lead = {1};
  Case small(spec);
  while (small.BytesMoved() > most) {
    CaseSpec best = spec;
    int64_t best_bytes = small.BytesMoved();
    for (const auto& [name, size] : spec.sizes) {
      if (size % 2 != 0) continue;
      CaseSpec narrower = spec;
      narrower.sizes[name] = size / 2;
      try {
        const int64_t bytes = Case(narrower).BytesMoved();
        if (bytes < best_bytes) {
          best = narrower;
          best_bytes = bytes;
        }
      } catch (const UsageError&) {
        continue;  // sizes that depend on each other
      }
    }
    if (best_bytes == small.BytesMoved()) break;
    spec = best;
    small = Case(spec);
  }
  return small;
}

// Microseconds per byte that one thread's arithmetic takes.
double ArithmeticPerByte(const CaseSpec& spec, const BenchOptions& options) {
  const Case large = SmallCase(spec, kL1Bytes);
  const Case small = SmallCase(spec, kSmallBytes);
  const GeneratedCall large_call(large.call(), large.OutputViews());
  const GeneratedCall small_call(small.call(), small.OutputViews());
  const std::vector<Sample> times =
      TimeInTurn({[&] { large_call.Run(); }, [&] { small_call.Run(); }},
                 {.repeats = options.repeats, .sample_us = 200});
  const auto bytes = static_cast<double>(large.BytesMoved() - small.BytesMoved());
  return bytes > 0 ? std::max(0.0, times[0].median_us - times[1].median_us) / bytes : 0.0;
}

}  // namespace

MachineLimits MeasureLimits() { return {cpu::NumThreads(), cpu::MeasureCopyBandwidth().best()}; }

BenchRow Bench(const CaseSpec& spec, const MachineLimits& limits, const BenchOptions& options) {
  BenchRow row;
  row.op = spec.op;
  row.text = CaseText(spec);
  row.dtype = DTypeName(spec.storage);
  row.tokens = TokensOf(spec);
  row.check = CheckResult(spec);
  if (!row.check.empty()) return row;

  const Case test(spec);
  row.bytes = test.BytesMoved();
  const GeneratedCall kernel(test.call(), test.OutputViews());
  const Op op = Op::Find(spec.op);
  const std::vector<Tensor> results = test.results();
  std::vector<std::function<void()>> runs = {
      [&] { kernel.Run(); },
      [&] { op.Run(test.arguments(), results); },
  };
  const std::optional<Chain> chain = UnfusedChain(test);
  if (chain) runs.push_back([&] { chain->Run(); });
  const std::vector<Sample> times = TimeInTurn(runs, {.repeats = options.repeats});
  row.kernel_us = times[0].median_us;
  row.spread = times[0].spread;
  row.call_us = times[1].median_us;
  if (chain) row.chain_us = times[2].median_us;
  // Rows are what threads share: fewer rows than threads leave some idle.
  const double threads = static_cast<double>(std::min<int64_t>(limits.threads, row.tokens));
  row.arithmetic_us = ArithmeticPerByte(spec, options) * static_cast<double>(row.bytes) / threads;
  row.limit_us =
      std::max(static_cast<double>(row.bytes) / limits.copy_gb_per_s / 1e3, row.arithmetic_us);
  return row;
}

}  // namespace tenon::ops
