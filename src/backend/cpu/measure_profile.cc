#include <unistd.h>

#include <algorithm>

#include "backend/cpu/bandwidth.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/targets.h"
#include "backend/profile.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace tenon::backend {
namespace {

std::string ProcessorName() {
  for (const std::string& line : Split(ReadFile("/proc/cpuinfo"), '\n')) {
    if (!line.starts_with("model name")) continue;
    return std::string(Strip(line.substr(line.find(':') + 1)));
  }
  return "x86-64 processor";
}

Figure Measured(double value, std::string source) {
  return {value, Basis::kMeasured, std::move(source)};
}

// A size that the C library may not know, in which case `usual` is taken and said to be so.
Figure CacheSize(int name, int64_t usual, const char* level) {
  const long bytes = sysconf(name);
  if (bytes > 0) return Measured(static_cast<double>(bytes), fmt::format("sysconf, {}", level));
  return {static_cast<double>(usual), Basis::kPublished,
          fmt::format("{} of a usual server core; this system does not tell", level)};
}

}  // namespace

DeviceProfile MeasureCpuProfile() {
  const int threads = cpu::NumThreads();
  const cpu::CopyBandwidth copy = cpu::MeasureCopyBandwidth();
  const std::string_view target = cpu::TargetName(cpu::ChosenTarget());
  DeviceProfile profile;
  profile.name = ProcessorName();
  profile.kind = "cpu";
  profile.copy_gb_per_s =
      Measured(copy.best(), fmt::format("copy of 256 MiB, {} threads, median of 9: memcpy {:.1f}, "
                                        "streaming stores {:.1f} GB/s",
                                        threads, copy.memcpy_gb_per_s, copy.stream_gb_per_s));
  // A single thread forks nothing; a call of a kernel is what remains.
  const double launch_us = std::max(cpu::MeasureParallelForUs(), 0.01);
  profile.launch_us =
      Measured(launch_us, fmt::format("empty parallel loop over {} threads", threads));
  profile.captured_launch_us = profile.launch_us;
  profile.cores = Measured(threads, "threads of the CPU backend");
  profile.core_memory_bytes =
      CacheSize(_SC_LEVEL2_CACHE_SIZE, int64_t{1} << 20, "second-level cache");
  profile.cache_bytes = CacheSize(_SC_LEVEL3_CACHE_SIZE, int64_t{32} << 20, "third-level cache");
  profile.vector_gflops = Measured(
      cpu::MeasureVectorGflops(),
      fmt::format("multiply-adds on registers, {} threads, {}, median of 9", threads, target));
  profile.matrix_gflops[DType::kF32] = profile.vector_gflops;
  return profile;
}

}  // namespace tenon::backend
