// tenon cache: what lies in the cache folder, and how to remove it.
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/flags.h"

namespace tenon::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string format;
  bool clear = false;
};

// Names that Tenon writes in the cache folder. Nothing else in it is touched: the user may have
// named any folder.
struct Kept {
  const char* name;
  const char* what;
};
constexpr Kept kKept[] = {
    {"cpp", "kernels that the host compiler made"},
    {"profile-cpu.json", "measured profile of this machine"},
};

struct Usage {
  int64_t entries = 0;
  int64_t bytes = 0;
};

Usage Measure(const fs::path& path) {
  if (!fs::is_directory(path)) return {1, static_cast<int64_t>(fs::file_size(path))};
  Usage usage;
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    ++usage.entries;
    if (!entry.is_directory()) continue;
    for (const fs::directory_entry& file : fs::recursive_directory_iterator(entry)) {
      if (file.is_regular_file()) usage.bytes += static_cast<int64_t>(file.file_size());
    }
  }
  return usage;
}

int Run(const Options& options) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  std::string text = CacheDir() + "\n";
  for (const Kept& kept : kKept) {
    const fs::path path = fs::path(CacheDir()) / kept.name;
    if (!fs::exists(path)) continue;
    const Usage usage = Measure(path);
    std::error_code failed;
    if (options.clear) fs::remove_all(path, failed);
    TENON_CHECK(!failed, "cache: cannot remove {}: {}", path.string(), failed.message());
    json.push_back({{"name", kept.name}, {"entries", usage.entries}, {"bytes", usage.bytes}});
    text +=
        fmt::format("{}{:<18} {:>6} entries {:>12} bytes   {}\n", options.clear ? "removed " : "",
                    kept.name, usage.entries, usage.bytes, kept.what);
  }
  Print(options.format == "json" ? json.dump(2) + "\n" : text);
  return kOk;
}

}  // namespace

void AddCache(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "cache", "Shows what lies in the cache folder (TENON_CACHE_DIR), or removes it.");
  const auto options = std::make_shared<Options>();
  command->add_flag("--clear", options->clear, "Remove it; kernels are compiled again when needed");
  AddFormat(command, options->format, {"text", "json"});
  command->footer("Example:\n  tenon cache --clear");
  command->callback([options, &exit_code] { exit_code = Run(*options); });
}

}  // namespace tenon::cli
