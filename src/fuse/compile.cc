#include "fuse/compile.h"

#include <dlfcn.h>

#include <cstdio>
#include <optional>

#include "base/env.h"
#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"
#include "fuse/process.h"
#include "fuse/runtime_headers.h"

namespace tenon::fuse {
namespace {

constexpr std::string_view kEntryPoint = "tenon_row_kernel";

std::optional<HostCompiler> Probe(const std::string& program) {
  const ProcessResult result = RunProcess({program, "--version"});
  if (!result.started || result.exit_code != 0) return std::nullopt;
  return HostCompiler{program, Split(result.output, '\n')[0]};
}

std::vector<std::string> Flags(cpu::Target target) {
  std::vector<std::string> flags = {"-std=c++20", "-O3",      "-fPIC",
                                    "-shared",    "-DNDEBUG", "-fvisibility=hidden"};
  for (std::string& flag : Split(cpu::StaticTargetFlags(target), ' ')) {
    if (!flag.empty()) flags.push_back(std::move(flag));
  }
  return flags;
}

std::string HeadersHash() {
  std::string all;
  for (const RuntimeHeader& header : RuntimeHeaders()) {
    all += fmt::format("{}\n{}\n", header.name, header.text);
  }
  return HashHex(all);
}

void CompileInto(const std::filesystem::path& folder, std::string_view text,
                 const HostCompiler& compiler, const std::vector<std::string>& flags) {
  WriteFile(folder / "kernel.cc", text);
  const TempDir include;
  for (const RuntimeHeader& header : RuntimeHeaders()) {
    WriteFile(include.path() / std::string(header.name), header.text);
  }
  std::vector<std::string> argv = {compiler.program};
  argv.insert(argv.end(), flags.begin(), flags.end());
  for (const std::string& word :
       {std::string("-I"), include.path().string(), std::string("-o"),
        (folder / "kernel.so").string(), (folder / "kernel.cc").string()}) {
    argv.push_back(word);
  }
  const ProcessResult result = RunProcess(argv);
  if (result.exit_code != 0 && result.output.find("hwy/") != std::string::npos &&
      result.output.find("No such file") != std::string::npos) {
    throw UsageError(
        "fuse: Highway's headers are missing, which generated kernels include: install libhwy-dev");
  }
  TENON_CHECK(result.exit_code == 0, "fuse: {} refused the generated kernel:\n{}", compiler.program,
              result.output);
  WriteFile(folder / "hash", HashHex(ReadFile(folder / "kernel.so")));
}

bool IsComplete(const std::filesystem::path& entry) {
  try {
    return ReadFile(entry / "hash") == HashHex(ReadFile(entry / "kernel.so"));
  } catch (const UsageError&) {
    return false;  // a file is missing
  }
}

}  // namespace

HostCompiler FindHostCompiler() {
  if (const std::string chosen = EnvValue("TENON_CXX"); !chosen.empty()) {
    const auto compiler = Probe(chosen);
    TENON_CHECK(compiler.has_value(),
                "fuse: TENON_CXX names {}, which does not run: set it to a C++20 compiler or unset "
                "it",
                chosen);
    return *compiler;
  }
  for (const char* program : {"c++", "g++", "clang++"}) {
    if (const auto compiler = Probe(program)) return *compiler;
  }
  throw UsageError(
      "fuse: no host compiler (c++, g++ or clang++) for target cpp: install g++ 12 or newer "
      "(apt-get install g++), or name one in TENON_CXX");
}

KernelLibrary::KernelLibrary(std::filesystem::path path) : path_(std::move(path)) {
  handle_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
  TENON_CHECK(handle_ != nullptr, "fuse: {} cannot be loaded: {}", path_.string(), dlerror());
  using Entry = const cpu::RowKernel* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(handle_, kEntryPoint.data()));
  if (entry != nullptr) {
    kernel_ = entry();
    return;
  }
  dlclose(handle_);
  throw UsageError(fmt::format("fuse: {} has no {}", path_.string(), kEntryPoint));
}

KernelLibrary::~KernelLibrary() { dlclose(handle_); }

std::shared_ptr<const KernelLibrary> CompileKernel(std::string_view text, cpu::Target target) {
  const HostCompiler compiler = FindHostCompiler();
  const std::vector<std::string> flags = Flags(target);
  const std::filesystem::path cache = std::filesystem::path(CacheDir()) / "cpp";
  const std::string key =
      HashHex(fmt::format("{}\n{}\n{}\n{}\n{}", text, Join(flags, " "), compiler.version,
                          cpu::TargetName(target), HeadersHash()));
  const std::filesystem::path entry = cache / key;
  for (int attempt = 0;; ++attempt) {
    const bool exists = std::filesystem::exists(entry);
    const bool complete = exists && IsComplete(entry);
    if (exists && !complete) {
      std::fprintf(stderr, "tenon: cache entry %s is damaged; rebuilding it\n", entry.c_str());
    }
    if (!complete) {
      WriteFolder(entry, [&](const std::filesystem::path& fresh) {
        CompileInto(fresh, text, compiler, flags);
      });
    }
    try {
      return std::make_shared<const KernelLibrary>(entry / "kernel.so");
    } catch (const UsageError&) {
      // Another process may be replacing the entry at this moment.
      if (attempt == 2) throw;
    }
  }
}

}  // namespace tenon::fuse
