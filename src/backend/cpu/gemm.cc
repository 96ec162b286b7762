#include "backend/cpu/gemm.h"

#include "backend/cpu/gemm_parts.h"
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
    {"skinny", DeclinesSkinny, RunSkinny},
    {"blocked", DeclinesBlocked, RunBlocked},
};

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
  for (const GemmKernel& kernel : kKernels) {
    if (kernel.declines(gemm).empty()) return kernel.run(gemm);
  }
}

}  // namespace tenon::cpu
