#include "ops/structural.h"

#include <map>
#include <vector>

#include "base/error.h"

namespace tenon::ops {
namespace {

using KernelTable = std::map<std::string_view, std::vector<Kernel>>;

const KernelTable& Table() {
  static const auto* const table = new KernelTable{
      {"dynamic_scaled_fp8_quant",
       {{"cpu.two_pass", DeclinesOffCpu, quant::RunDynamicScaledFp8Quant}}},
  };
  return *table;
}

}  // namespace

std::span<const Kernel> StructuralKernels(std::string_view op) {
  const auto it = Table().find(op);
  TENON_ASSERT(it != Table().end(), "{} has no kernel", op);
  return it->second;
}

}  // namespace tenon::ops
