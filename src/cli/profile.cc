// tenon profile: what a device can do.
#include "backend/profile.h"

#include <memory>

#include "base/dtype.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/flags.h"

namespace tenon::cli {
namespace {

struct Options {
  std::string name;
  std::string file;
  std::string format;
};

std::string Row(std::string_view label, const backend::Figure& figure) {
  return fmt::format("{:<24} {:>14.6g}   {} ({})\n", label, figure.value,
                     figure.basis == backend::Basis::kMeasured ? "measured" : "published",
                     figure.source);
}

std::string TextOf(const backend::DeviceProfile& profile) {
  std::string out = fmt::format("{} ({})\n", profile.name, profile.kind);
  out += Row("copy, GB/s", profile.copy_gb_per_s);
  out += Row("launch, us", profile.launch_us);
  out += Row("launch in a graph, us", profile.captured_launch_us);
  out += Row("cores", profile.cores);
  out += Row("memory of a core, bytes", profile.core_memory_bytes);
  out += Row("last cache, bytes", profile.cache_bytes);
  out += Row("vector f32, Gflop/s", profile.vector_gflops);
  for (const auto& [dtype, figure] : profile.matrix_gflops) {
    out += Row(fmt::format("matrix {}, Gflop/s", DTypeName(dtype)), figure);
  }
  if (profile.link_gb_per_s) out += Row("link, GB/s", *profile.link_gb_per_s);
  if (profile.collective_us) out += Row("small collective, us", *profile.collective_us);
  return out;
}

int Run(const Options& options) {
  const backend::DeviceProfile profile =
      options.name.empty() ? backend::MeasureCpuProfile() : backend::FindProfile(options.name);
  if (!options.file.empty()) backend::SaveProfile(profile, options.file);
  Print(options.format == "json" ? backend::ProfileText(profile) : TextOf(profile));
  return kOk;
}

}  // namespace

void AddProfile(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "profile",
      "Measures this machine (about five seconds), or shows the profile of another device. Each\n"
      "figure says whether it was measured or published, and where it comes from.");
  const auto options = std::make_shared<Options>();
  command->add_option("NAME", options->name,
                      "Profile to show: cpu (this machine, from the cache), " +
                          Join(backend::BuiltinProfileNames(), ", ") + ", or a .json file");
  command->add_option("-o", options->file, "Write the profile to this file, too")
      ->option_text("FILE");
  AddFormat(command, options->format, {"text", "json"});
  command->footer(
      "Examples:\n  tenon profile -o laptop.json\n  tenon profile h200\n"
      "  tenon analyze Qwen3ForCausalLM --device laptop.json");
  command->callback([options, &exit_code] { exit_code = Run(*options); });
}

}  // namespace tenon::cli
