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

// A quarter of the smallest L1 data cache in use: arguments, results and scratch rows stay in it.
constexpr int64_t kL1Bytes = 8 << 10;

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

// The case with one row, made narrow enough for L1: the widest size that counts is halved.
Case SmallCase(CaseSpec spec) {
  spec.lead = {1};
  Case small(spec);
  while (small.BytesMoved() > kL1Bytes) {
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
  const Case small = SmallCase(spec);
  const GeneratedCall call(small.call(), small.OutputViews());
  const auto run = [&] { call.Run(); };
  return TimeInTurn({run}, {.repeats = options.repeats, .sample_us = 200})[0].median_us /
         static_cast<double>(small.BytesMoved());
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
