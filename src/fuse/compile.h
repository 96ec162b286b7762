// Kernel text -> loaded kernel: host compiler, disk cache, dlopen.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "backend/cpu/row_kernel.h"
#include "backend/cpu/targets.h"

namespace tenon::fuse {

struct HostCompiler {
  std::string program;
  std::string version;  // first line of --version
};

// $TENON_CXX, else the first of c++, g++ and clang++ that runs. UsageError that says what to
// install.
HostCompiler FindHostCompiler();

// A shared object that stays loaded as long as it is referred to.
class KernelLibrary {
 public:
  // UsageError with the loader's reason.
  explicit KernelLibrary(std::filesystem::path path);
  ~KernelLibrary();
  KernelLibrary(const KernelLibrary&) = delete;
  KernelLibrary& operator=(const KernelLibrary&) = delete;

  const cpu::RowKernel& kernel() const { return *kernel_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  void* handle_ = nullptr;
  const cpu::RowKernel* kernel_ = nullptr;
};

// Compiles `text` (emit::EmitCppRuntimeFile) for `target`, or takes it from the cache. The key is
// text, flags, compiler version, headers and target. Entries are complete folders, renamed into
// place: processes may do so at once. One that is damaged is rebuilt with one warning.
std::shared_ptr<const KernelLibrary> CompileKernel(std::string_view text, cpu::Target target);

}  // namespace tenon::fuse
