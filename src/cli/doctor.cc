// tenon doctor: what Tenon finds on this machine.
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "backend/cpu/parallel.h"
#include "backend/cpu/targets.h"
#include "base/env.h"
#include "base/error.h"
#include "base/files.h"
#include "cli/command.h"
#include "cli/flags.h"

namespace tenon::cli {
namespace {

struct Options {
  std::string format;
  bool env_table = false;
};

struct Finding {
  std::string name;
  std::string value;
  bool ok = true;
};

// Calls `find`; what it throws for the user to fix becomes the finding.
template <typename Find>
Finding Look(const std::string& name, Find find) {
  try {
    return {name, find(), true};
  } catch (const UsageError& error) {
    return {name, error.what(), false};
  }
}

std::string CacheText() {
  const std::filesystem::path probe = std::filesystem::path(CacheDir()) / "doctor";
  WriteFile(probe, "");
  std::filesystem::remove(probe);
  return CacheDir();
}

std::vector<Finding> Examine() {
  std::vector<Finding> findings;
  findings.push_back({"version", TENON_VERSION});
  findings.push_back(
      Look("instruction set", [] { return std::string(cpu::TargetName(cpu::ChosenTarget())); }));
  findings.push_back(Look("threads", [] { return std::to_string(cpu::NumThreads()); }));
  findings.push_back(Look("cache folder", CacheText));
  for (const EnvVariable& variable : EnvTable()) {
    if (!variable.name.starts_with("TENON_")) continue;
    if (std::string value = EnvValue(variable.name); !value.empty()) {
      findings.push_back({std::string(variable.name), value});
    }
  }
  return findings;
}

std::string EnvTableText() {
  std::string out =
      "# Environment variables\n\nWritten by `tenon doctor --env-table`. Each is read once, when "
      "it "
      "is first needed.\n\n| variable | meaning |\n| --- | --- |\n";
  for (const EnvVariable& variable : EnvTable()) {
    out += fmt::format("| `{}` | {} |\n", variable.name, variable.meaning);
  }
  return out;
}

int Run(const Options& options) {
  if (options.env_table) {
    Print(EnvTableText());
    return kOk;
  }
  const std::vector<Finding> findings = Examine();
  bool ok = true;
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  std::string text;
  for (const Finding& finding : findings) {
    ok = ok && finding.ok;
    json.push_back({{"name", finding.name}, {"value", finding.value}, {"ok", finding.ok}});
    text +=
        fmt::format("{} {:<18} {}\n", finding.ok ? "ok  " : "FAIL", finding.name, finding.value);
  }
  Print(options.format == "json" ? json.dump(2) + "\n" : text);
  return ok ? kOk : kFailed;
}

}  // namespace

void AddDoctor(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "doctor",
      "Shows what Tenon finds on this machine: instruction set, threads, cache folder and the\n"
      "environment variables that are set. Exits with 1 when something is not usable.");
  const auto options = std::make_shared<Options>();
  AddFormat(command, options->format, {"text", "json"});
  command->add_flag("--env-table", options->env_table,
                    "Print the table of all environment variables instead, as Markdown");
  command->footer("Example:\n  tenon doctor --format json");
  command->callback([options, &exit_code] { exit_code = Run(*options); });
}

}  // namespace tenon::cli
