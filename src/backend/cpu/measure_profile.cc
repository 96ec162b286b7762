#include <algorithm>
#include <string>

#include "backend/cpu/bandwidth.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/targets.h"
#include "backend/profile.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace tenon::backend {
std::string ProcessorName() {
  for (const std::string& line : Split(ReadFile("/proc/cpuinfo"), '\n')) {
    if (!line.starts_with("model name")) continue;
    return std::string(Strip(line.substr(line.find(':') + 1)));
  }
  return "x86-64 processor";
}

namespace {

Figure Measured(double value, std::string source) {
  return {value, Basis::kMeasured, std::move(source)};
}

Figure CacheSize(int level, int64_t usual) {
  if (const int64_t bytes = cpu::CacheBytes(level); bytes > 0) {
    return Measured(static_cast<double>(bytes),
                    fmt::format("the kernel's account of the level {} cache", level));
  }
  return {static_cast<double>(usual), Basis::kPublished,
          fmt::format("a usual level {} cache; this system does not tell", level)};
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
  profile.core_memory_bytes = CacheSize(2, int64_t{1} << 20);
  profile.cache_bytes = CacheSize(3, int64_t{32} << 20);
  profile.vector_gflops = Measured(
      cpu::MeasureVectorGflops(),
      fmt::format("multiply-adds on registers, {} threads, {}, best of 9", threads, target));
  profile.matrix_gflops[DType::kF32] = profile.vector_gflops;
  return profile;
}

}  // namespace tenon::backend
