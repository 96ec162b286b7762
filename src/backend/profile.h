// What a device can do: a small data file. Every figure says where it comes from and whether it was
// measured or published, and reports repeat that.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/tensor.h"

namespace tenon::backend {

enum class Basis { kMeasured, kPublished };

struct Figure {
  double value = 0;
  Basis basis = Basis::kMeasured;
  std::string source;
};

struct DeviceProfile {
  std::string name;  // "NVIDIA H200 SXM"
  std::string kind;  // cpu, cuda or ascend

  Figure copy_gb_per_s;       // a large copy: bytes read plus bytes written, 1e9 a second
  Figure launch_us;           // one kernel more, launched by the host
  Figure captured_launch_us;  // one kernel more in a captured graph
  Figure cores;               // CPU cores, multiprocessors, vector cores
  Figure core_memory_bytes;   // on-chip memory of one core that a kernel can fill
  Figure cache_bytes;         // last-level cache
  Figure vector_gflops;       // float32, outside matrix units
  std::map<DType, Figure> matrix_gflops;  // dense products; an absent type has no unit of its own

  // Between two devices of one machine: bytes one way, and the fixed cost of a small collective.
  std::optional<Figure> link_gb_per_s;
  std::optional<Figure> collective_us;
};

// JSON text and back. ParseProfile: UsageError naming `origin` and the field that is missing or of
// the wrong type.
std::string ProfileText(const DeviceProfile& profile);
DeviceProfile ParseProfile(std::string_view text, std::string_view origin);

DeviceProfile LoadProfile(const std::filesystem::path& path);
void SaveProfile(const DeviceProfile& profile, const std::filesystem::path& path);

// The data files of backend/profiles, which the library carries: ascend910b, h200.
std::vector<std::string> BuiltinProfileNames();

// A built-in profile by name; "cpu": this machine, measured once and kept in the cache folder;
// anything that ends in .json: that file. Other names: UsageError with the nearest ones.
DeviceProfile FindProfile(const std::string& name);

// Measures this machine with the present number of threads: about five seconds and 512 MiB.
DeviceProfile MeasureCpuProfile();

std::string ProcessorName();  // of this machine, as the kernel tells it

}  // namespace tenon::backend
