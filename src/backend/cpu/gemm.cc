#include "backend/cpu/gemm.h"

#include <cstdio>

#include "backend/cpu/gemm_parts.h"
#include "base/dtype.h"
#include "base/env.h"
#include "base/error.h"

namespace tenon::cpu {
namespace {

// In order of trial; the last one takes everything.
struct GemmKernel {
  std::string_view name;
  std::string (*declines)(const Gemm& gemm);  // the reason, or empty
  void (*run)(const Gemm& gemm);
};
constexpr GemmKernel kKernels[] = {
    {"avx512_bf16", DeclinesBf16, RunBf16},
    {"skinny", DeclinesSkinny, RunSkinny},
    {"blocked", DeclinesBlocked, RunBlocked},
};

void LogAnswer(const Gemm& gemm, const GemmKernel& kernel, const std::string& reason) {
  std::fputs(
      fmt::format("tenon dispatch: product {} [{}, {}] x [{}, {}]: {}: {}\n", DTypeName(gemm.dtype),
                  gemm.m, gemm.k, gemm.k, gemm.n, kernel.name, reason.empty() ? "yes" : reason)
          .c_str(),
      stderr);
}

struct ActWord {
  std::string_view word;
  Act act;
};
constexpr ActWord kActWords[] = {
    {"none", Act::kNone},
    {"silu", Act::kSilu},
    {"gelu", Act::kGelu},
    {"gelu_tanh", Act::kGeluTanh},
    {"gelu_quick", Act::kGeluQuick},
    {"relu", Act::kRelu},
    {"relu2", Act::kRelu2},
    {"sigmoid", Act::kSigmoid},
    {"swigluoai", Act::kSwigluOai},
};

}  // namespace

Act ActOf(std::string_view word) {
  for (const ActWord& row : kActWords) {
    if (row.word == word) return row.act;
  }
  throw InternalError(__FILE__, __LINE__, "there is no activation " + std::string(word));
}

void RunGemm(const Gemm& gemm) {
  if (gemm.batch <= 0 || gemm.m <= 0 || gemm.n <= 0) return;
  static const bool logs = LogsTopic("dispatch");
  for (const GemmKernel& kernel : kKernels) {
    const std::string reason = kernel.declines(gemm);
    if (logs) LogAnswer(gemm, kernel, reason);
    if (reason.empty()) return kernel.run(gemm);
  }
}

}  // namespace tenon::cpu
