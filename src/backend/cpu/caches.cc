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

}  // namespace tenon::cpu
