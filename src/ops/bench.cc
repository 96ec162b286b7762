#include "ops/bench.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "backend/cpu/bandwidth.h"
#include "backend/cpu/parallel.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/timing.h"
#include "emit/plan.h"
#include "ops/chain.h"
#include "ops/check.h"
#include "ops/dispatch.h"
#include "ops/generated_row.h"
#include "tenon/op.h"

namespace tenon::ops {
namespace {

// Two sizes that stay in L1 with arguments, results and scratch rows; the difference of their times
// is arithmetic alone, without what a call costs.
constexpr int64_t kL1Bytes = 8 << 10;
constexpr int64_t kSmallBytes = 2 << 10;

// Each buffer of the copy that runs in turn with a kernel; both together exceed last-level caches.
constexpr int64_t kProbeBytes = 64 << 20;

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

// Sizes that the vector loops of the case's kernel run over.
std::set<std::string> LaneSizes(const Case& test) {
  std::set<std::string> names;
  for (const emit::Nest& nest : emit::MakeRowPlan(test.call().variant->graph).nests) {
    for (const emit::Loop& loop : nest.loops) {
      for (const std::string& name : loop.extent.symbols()) names.insert(name);
    }
  }
  return names;
}

// The case with one of its sizes halved: of those that `allowed` names, the one that counts most.
template <typename Allowed>
std::optional<Case> Halved(const Case& test, const Allowed& allowed) {
  std::optional<Case> best;
  for (const auto& [name, size] : test.spec().sizes) {
    if (size % 2 != 0 || !allowed(name)) continue;
    CaseSpec narrower = test.spec();
    narrower.sizes[name] = size / 2;
    try {
      Case half(std::move(narrower));
      if (half.BytesMoved() < (best ? *best : test).BytesMoved()) best.emplace(std::move(half));
    } catch (const UsageError&) {
      continue;  // sizes that depend on each other
    }
  }
  return best;
}

// The case with one row of at most `most` bytes. Heads and groups go first: a vector loop that gets
// shorter costs more per element.
Case SmallCase(CaseSpec spec, int64_t most) {
  spec.lead = {1};
  const ir::Bindings bound = Case(spec).call().sizes;
  for (const auto& [name, size] : bound) {
    if (spec.attributes.erase(name) != 0) spec.sizes[name] = size;  // numbers of heads
  }
  Case small(std::move(spec));
  const std::set<std::string> lanes = LaneSizes(small);
  while (small.BytesMoved() > most) {
    std::optional<Case> half =
        Halved(small, [&](const std::string& name) { return !lanes.contains(name); });
    if (!half) half = Halved(small, [](const std::string&) { return true; });
    if (!half) break;
    small = std::move(*half);
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

MachineLimits MeasureLimits() {
  return {cpu::NumThreads(), cpu::MeasureCopyBandwidth().best(),
          std::make_shared<const cpu::CopyProbe>(kProbeBytes)};
}

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
  const size_t first_copy = runs.size();
  if (row.bytes > cpu::LastLevelCacheBytes()) {
    runs.push_back([&] { limits.copy->Memcpy(); });
    runs.push_back([&] { limits.copy->Stream(); });
  }
  const std::vector<Sample> times = TimeInTurn(runs, {.repeats = options.repeats});
  row.copy_gb_per_s = limits.copy_gb_per_s;
  if (first_copy < times.size()) {
    const double us = std::min(times[first_copy].median_us, times[first_copy + 1].median_us);
    row.copy_gb_per_s = static_cast<double>(limits.copy->bytes_moved()) / us / 1e3;
  }
  row.kernel_us = times[0].median_us;
  row.spread = times[0].spread;
  row.call_us = times[1].median_us;
  if (chain) row.chain_us = times[2].median_us;
  // Rows are what threads share: fewer rows than threads leave some idle.
  const double threads = static_cast<double>(std::min<int64_t>(limits.threads, row.tokens));
  row.arithmetic_us = ArithmeticPerByte(spec, options) * static_cast<double>(row.bytes) / threads;
  row.limit_us =
      std::max(static_cast<double>(row.bytes) / row.copy_gb_per_s / 1e3, row.arithmetic_us);
  return row;
}

}  // namespace tenon::ops
