// Measured limits of this CPU: what every speed is compared with.
#pragma once

#include <cstdint>
#include <memory>

namespace tenon::cpu {

inline constexpr int64_t kCopyBytes = int64_t{256} << 20;  // larger than the last-level caches

struct CopyBandwidth {
  double memcpy_gb_per_s;  // bytes read plus bytes written, 1e9 a second
  double stream_gb_per_s;  // with stores past the caches

  double best() const {
    return memcpy_gb_per_s > stream_gb_per_s ? memcpy_gb_per_s : stream_gb_per_s;
  }
};

// A large copy by NumThreads() threads that can be timed in turn with something else: on a shared
// machine the bandwidth moves from one second to the next.
class CopyProbe {
 public:
  explicit CopyProbe(int64_t bytes);
  ~CopyProbe();
  void Memcpy() const;
  void Stream() const;  // with stores past the caches
  int64_t bytes_moved() const { return 2 * lines_ * 64; }

 private:
  struct Buffers;
  int64_t lines_;
  std::unique_ptr<Buffers> buffers_;
};

// Copies `bytes` from one buffer to another with NumThreads() threads; medians of nine runs.
CopyBandwidth MeasureCopyBandwidth(int64_t bytes = kCopyBytes);

// Size of this machine's data cache of a level, in bytes, as the kernel tells it for cpu0 (the C
// library counts every slice of the package, which a virtual machine may not have). 0: not told.
int64_t CacheBytes(int level);

// CacheBytes(3), or 32 MiB when the kernel does not tell; read once.
int64_t LastLevelCacheBytes();
int64_t FirstLevelCacheBytes();  // of one core, for data

// Multiply-adds on registers by all threads, two operations each, for the chosen target; the best
// of nine runs, since a peak is asked for.
double MeasureVectorGflops();

// A parallel loop whose ranges are empty: what splitting an operator over the threads costs; best
// of nine.
double MeasureParallelForUs();

}  // namespace tenon::cpu
