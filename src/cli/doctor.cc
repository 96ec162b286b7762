// tenon doctor: what Tenon finds on this machine.
#include <dlfcn.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "backend/cpu/gemm.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/targets.h"
#include "base/env.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "fuse/compile.h"
#include "fuse/process.h"

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

// "avx3 (this CPU has avx2, avx3)"
std::string InstructionSets() {
  std::vector<std::string> names;
  for (cpu::Target target : cpu::SupportedTargets()) names.emplace_back(cpu::TargetName(target));
  return fmt::format("{} (this CPU has {})", cpu::TargetName(cpu::ChosenTarget()),
                     Join(names, ", "));
}

std::string Bf16Products() {
  const std::string why = cpu::WhyNoBf16();
  return why.empty() ? "AVX512-BF16" : fmt::format("in float32 ({})", why);
}

// What only some of Tenon needs may be missing: that is said, and is no failure.
std::string HostCompilerText() {
  try {
    return fuse::FindHostCompiler().version;
  } catch (const UsageError& error) {
    return fmt::format("not found ({})", error.what());
  }
}

std::string CudaDriver() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return "not found (libcuda.so.1)";
  const auto version_of = reinterpret_cast<int (*)(int*)>(dlsym(library, "cuDriverGetVersion"));
  int version = 0;
  const bool known = version_of != nullptr && version_of(&version) == 0;
  dlclose(library);
  return known ? fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10)
               : "libcuda.so.1 gives no version";
}

std::string CudaCompiler() {
  const fuse::ProcessResult result = fuse::RunProcess({"nvcc", "--version"});
  if (!result.started) return "nvcc not found";
  for (const std::string& line : Split(result.output, '\n')) {
    if (line.find("release") != std::string::npos) return std::string(Strip(line));
  }
  return "nvcc gives no version";
}

// Asks the python3 in PATH; the package lies beside this program, as installed or as built.
std::string PyTorch() {
  constexpr std::string_view kScript = R"py(
import os, pathlib, sys
home = pathlib.Path(sys.argv[1]).resolve().parents[1]
for folder in (home.parent, home.parents[1] / "python"):
    if (folder / "tenon" / "torch.py").exists():
        sys.path.insert(0, str(folder))
        break
if (home / "lib" / "libtenon.so").exists():
    os.environ.setdefault("TENON_LIBRARY", str(home / "lib" / "libtenon.so"))
try:
    import torch
except ImportError as error:
    print(f"not found ({error})")
    raise SystemExit
text = f"{torch.__version__} with {torch.get_num_threads()} threads"
try:
    import tenon.torch
    print(f"{text}; the extension loads: {len(tenon.names())} operators")
except Exception as error:
    print(f"{text}; the extension does not load: {error}")
)py";
  const fuse::ProcessResult result =
      fuse::RunProcess({"python3", "-c", std::string(kScript),
                        std::filesystem::read_symlink("/proc/self/exe").string()});
  if (!result.started) return "not found (there is no python3)";
  const std::vector<std::string> lines = Split(Strip(result.output), '\n');
  return result.exit_code == 0 ? lines.back() : fmt::format("not usable ({})", lines.back());
}

std::vector<Finding> Examine() {
  std::vector<Finding> findings;
  findings.push_back({"version", TENON_VERSION});
  findings.push_back(Look("instruction set", InstructionSets));
  findings.push_back(Look("bf16 products", Bf16Products));
  findings.push_back(Look("threads", [] { return std::to_string(cpu::NumThreads()); }));
  findings.push_back(Look("host compiler", HostCompilerText));
  findings.push_back(Look("CUDA driver", CudaDriver));
  findings.push_back(Look("CUDA compiler", CudaCompiler));
  findings.push_back(Look("PyTorch", PyTorch));
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
      "Shows what Tenon finds on this machine: instruction sets, threads, compilers, CUDA driver,\n"
      "PyTorch and its extension, cache folder, and the environment variables that are set. Exits\n"
      "with 1 when something that every use needs is not usable.");
  const auto options = std::make_shared<Options>();
  AddFormat(command, options->format, {"text", "json"});
  command->add_flag("--env-table", options->env_table,
                    "Print the table of all environment variables instead, as Markdown");
  command->footer("Example:\n  tenon doctor --format json");
  command->callback([options, &exit_code] { exit_code = Run(*options); });
}

}  // namespace tenon::cli
