#include "ops/structural.h"

#include <map>
#include <vector>

#include "base/error.h"

namespace tenon::ops {
namespace {

void RunFunction(const Resolved& call, std::span<const Tensor> outputs) {
  call.op->contract().function()(call, outputs);
}

constexpr Kernel kFunction[] = {{"cpu.function", DeclinesOffCpu, RunFunction}};

using KernelTable = std::map<std::string_view, std::vector<Kernel>>;

const KernelTable& Table() {
  static const auto* const table = new KernelTable{
      {"dynamic_scaled_fp8_quant",
       {{"cpu.two_pass", DeclinesOffCpu, quant::RunDynamicScaledFp8Quant}}},
      {"linear", {{"cpu.product", DeclinesOffCpu, linear::RunLinear}}},
      {"linear_act", {{"cpu.product", DeclinesOffCpu, linear::RunLinearAct}}},
      {"linear_act_and_mul", {{"cpu.product", DeclinesOffCpu, linear::RunLinearActAndMul}}},
      {"linear_add", {{"cpu.product", DeclinesOffCpu, linear::RunLinearAdd}}},
      {"vocab_parallel_embedding", {{"cpu.rows", DeclinesOffCpu, embedding::LookUp}}},
  };
  return *table;
}

}  // namespace

std::span<const Kernel> StructuralKernels(const Operator& op) {
  const auto it = Table().find(op.name());
  if (it != Table().end()) return it->second;
  TENON_ASSERT(op.contract().function() != nullptr, "{} has no kernel", op.name());
  return kFunction;
}

}  // namespace tenon::ops
