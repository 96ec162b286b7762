#include "base/env.h"

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "base/text.h"

namespace tenon {
namespace {

constexpr EnvVariable kTable[] = {
    {"HOME", "where caches live when neither TENON_CACHE_DIR nor XDG_CACHE_HOME is set"},
    {"TENON_CACHE_DIR", "folder of compiled kernels (default: XDG_CACHE_HOME/tenon)"},
    {"TENON_COMM_TIMEOUT", "seconds that a rank waits for the others of its group (default: 300)"},
    {"TENON_CXX", "host compiler for `tenon fuse --target cpp` (default: c++, g++, clang++)"},
    {"TENON_LOG", "comma-separated topics to print on standard error: dispatch, compile, cache"},
    {"TENON_MPI_LIBRARY", "the plugin for groups of MPI processes (default: beside libtenon)"},
    {"TENON_NUM_THREADS", "threads of the CPU backend (default: OpenMP's)"},
    {"TENON_REGEN_GOLDEN", "1: tests write their golden files instead of comparing with them"},
    {"TENON_TARGET", "CPU instruction set to run: avx2 or avx3 (default: the best one)"},
    {"TENON_VLLM_PATH", "where `tenon analyze` finds vLLM's sources"},
    {"XDG_CACHE_HOME", "parent of the default cache folder"},
};

}  // namespace

std::span<const EnvVariable> EnvTable() { return kTable; }

std::string EnvValue(std::string_view name, std::string_view fallback) {
  for (const EnvVariable& row : kTable) {
    if (row.name != name) continue;
    const char* value = std::getenv(std::string(name).c_str());
    return value != nullptr && *value != '\0' ? value : std::string(fallback);
  }
  throw InternalError(__FILE__, __LINE__,
                      fmt::format("environment variable {} is not in the table", name));
}

bool LogsTopic(std::string_view topic) {
  const std::vector<std::string> topics = Split(EnvValue("TENON_LOG"), ',');
  return std::any_of(topics.begin(), topics.end(),
                     [&](const std::string& named) { return Strip(named) == topic; });
}

std::string CacheDir() {
  if (std::string dir = EnvValue("TENON_CACHE_DIR"); !dir.empty()) return dir;
  if (std::string dir = EnvValue("XDG_CACHE_HOME"); !dir.empty()) return dir + "/tenon";
  return EnvValue("HOME", "/tmp") + "/.cache/tenon";
}

}  // namespace tenon
