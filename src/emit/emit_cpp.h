// Row-wise kernels as C++ text on Highway's vectors (backend/cpu/row-inl.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "emit/plan.h"
#include "ir/ir.h"

namespace tenon::emit {

// A body to emit under a contract's name.
struct CppKernel {
  std::string op;        // "rotary_embedding"
  std::string variant;   // "is_neox=true", or empty
  std::string computes;  // one line for the header
  const ir::Graph* graph = nullptr;
};

// A file of the library: every kernel for every target, and `const RowKernel <op>_kernels[]` with
// their number in `<op>_num_kernels`, in namespace tenon::cpu::generated.
std::string EmitCppLibraryFile(std::string_view op, const std::vector<CppKernel>& kernels,
                               std::string_view file_name);

// A file to compile at run time for one target and one storage type; it exports
// `extern "C" const tenon::cpu::RowKernel* tenon_row_kernel()`, whose entry is fns[0][storage].
std::string EmitCppRuntimeFile(const CppKernel& kernel, DType storage);

}  // namespace tenon::emit
