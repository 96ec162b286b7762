#include <fstream>
#include <string>

#include "backend/cpu/bandwidth.h"

namespace tenon::cpu {

int64_t CacheBytes(int level) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder =
        "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    int found_level = 0;
    std::string type;
    int64_t kib = 0;
    std::ifstream(folder + "level") >> found_level;
    std::ifstream(folder + "type") >> type;
    std::ifstream(folder + "size") >> kib;  // "32768K"
    if (found_level == level && type != "Instruction") return kib * 1024;
  }
  return 0;
}

int64_t LastLevelCacheBytes() {
  static const int64_t bytes = [] {
    const int64_t size = CacheBytes(3);
    return size > 0 ? size : int64_t{32} << 20;
  }();
  return bytes;
}

int64_t FirstLevelCacheBytes() {
  static const int64_t bytes = [] {
    const int64_t size = CacheBytes(1);
    return size > 0 ? size : int64_t{32} << 10;
  }();
  return bytes;
}

}  // namespace tenon::cpu
