#include "backend/cpu/bandwidth.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "backend/cpu/parallel.h"
#include "backend/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/bandwidth.cc"
#include "backend/cpu/foreach_target.h"
#include "backend/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

// Both ends aligned to 64 bytes.
void CopyStreaming(const uint8_t* from, uint8_t* to, int64_t bytes) {
  const hn::ScalableTag<uint8_t> d;
  constexpr int64_t kStep = 64;
  for (int64_t i = 0; i < bytes; i += kStep) {
    for (int64_t k = 0; k < kStep; k += static_cast<int64_t>(hn::Lanes(d))) {
      hn::Stream(hn::Load(d, from + i + k), d, to + i + k);
    }
  }
  hwy::FlushStream();
}

// Ten chains: two multiply-add units times a latency of four or five cycles. Written as a pack: an
// array that a loop indexes stays in memory.
constexpr size_t kChains = 10;

template <size_t... chains>
HWY_INLINE double RunChains(int64_t rounds, std::index_sequence<chains...>) {
  VF values[] = {Splat(static_cast<float>(chains))...};
  const VF factor = Splat(0.5f);
  for (int64_t r = 0; r < rounds; ++r) {
    ((values[chains] = hn::MulAdd(values[chains], factor, factor)), ...);
  }
  VF sum = hn::Zero(DF());
  ((sum = hn::Add(sum, values[chains])), ...);
  return hn::GetLane(sum);
}

double MultiplyAdds(int64_t rounds) {
  return RunChains(rounds, std::make_index_sequence<kChains>());
}

int64_t FlopsPerRound() { return static_cast<int64_t>(2 * kChains * kLanes); }

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
namespace {

constexpr TargetTable<void(const uint8_t*, uint8_t*, int64_t)> kCopyStreaming = {
    HWY_CHOOSE_AVX2(CopyStreaming), HWY_CHOOSE_AVX3(CopyStreaming)};
constexpr TargetTable<double(int64_t)> kMultiplyAdds = {HWY_CHOOSE_AVX2(MultiplyAdds),
                                                        HWY_CHOOSE_AVX3(MultiplyAdds)};
constexpr TargetTable<int64_t()> kFlopsPerRound = {HWY_CHOOSE_AVX2(FlopsPerRound),
                                                   HWY_CHOOSE_AVX3(FlopsPerRound)};

constexpr int64_t kLine = 64;
constexpr int kRuns = 9;

// Seconds of kRuns calls, sorted, after one that warms up (page faults, clocks, threads).
template <typename Fn>
std::array<double, kRuns> SortedSeconds(Fn&& fn) {
  fn();
  std::array<double, kRuns> seconds;
  for (double& s : seconds) {
    const auto start = std::chrono::steady_clock::now();
    fn();
    s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

struct AlignedBuffer {
  explicit AlignedBuffer(int64_t bytes) : storage(new uint8_t[bytes + kLine]) {
    void* start = storage.get();
    size_t space = bytes + kLine;
    data = static_cast<uint8_t*>(std::align(kLine, bytes, start, space));
  }
  std::unique_ptr<uint8_t[]> storage;
  uint8_t* data;
};

}  // namespace

struct CopyProbe::Buffers {
  explicit Buffers(int64_t bytes) : from(bytes), to(bytes) {}

  template <typename Copy>
  void ForLines(int64_t lines, const Copy& copy) const {
    ParallelFor(lines, 1, [&](int64_t begin, int64_t end) {
      copy(from.data + begin * kLine, to.data + begin * kLine, (end - begin) * kLine);
    });
  }

  AlignedBuffer from;
  AlignedBuffer to;
};

CopyProbe::CopyProbe(int64_t bytes)
    : lines_(bytes / kLine), buffers_(std::make_unique<Buffers>(bytes)) {
  // The first touch by the threads that will copy decides where pages live.
  buffers_->ForLines(lines_, [](uint8_t* x, uint8_t* y, int64_t n) {
    std::memset(x, 1, n);
    std::memset(y, 2, n);
  });
}

CopyProbe::~CopyProbe() = default;

void CopyProbe::Memcpy() const {
  buffers_->ForLines(lines_, [](const uint8_t* x, uint8_t* y, int64_t n) { std::memcpy(y, x, n); });
}

void CopyProbe::Stream() const { buffers_->ForLines(lines_, kCopyStreaming.Chosen()); }

CopyBandwidth MeasureCopyBandwidth(int64_t bytes) {
  const CopyProbe probe(bytes);
  const auto gb_per_s = [&](double seconds) {
    return 1e-9 * static_cast<double>(probe.bytes_moved()) / seconds;
  };
  return {gb_per_s(SortedSeconds([&] { probe.Memcpy(); })[kRuns / 2]),
          gb_per_s(SortedSeconds([&] { probe.Stream(); })[kRuns / 2])};
}

double MeasureVectorGflops() {
  constexpr int64_t kRounds = 200'000;  // about a millisecond: a run without interruption is likely
  const int threads = NumThreads();
  std::vector<double> sums(threads);
  const auto seconds = SortedSeconds([&] {
    ParallelFor(threads, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) sums[i] += kMultiplyAdds.Chosen()(kRounds);
    });
  });
  return 1e-9 * static_cast<double>(kRounds * kFlopsPerRound.Chosen()() * threads) / seconds[0];
}

double MeasureParallelForUs() {
  constexpr int kLoops = 1000;
  const int threads = NumThreads();
  const auto seconds = SortedSeconds([&] {
    for (int i = 0; i < kLoops; ++i) {
      ParallelForRanges(
          threads, 1, [](void*, int64_t, int64_t) {}, nullptr);
    }
  });
  return 1e6 * seconds[0] / kLoops;
}

}  // namespace tenon::cpu
#endif  // HWY_ONCE
