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
      {"addmm_batch_invariant", {{"cpu.dot", DeclinesOffCpu, linear::RunAddmmBatchInvariant}}},
      {"all_gather", {{"cpu.group", DeclinesOffCpu, comm::RunAllGather}}},
      {"all_gather_linear", {{"cpu.group", DeclinesOffCpu, comm::RunAllGatherLinear}}},
      {"all_reduce", {{"cpu.group", DeclinesOffCpu, comm::RunAllReduce}}},
      {"all_reduce_add_rms_norm", {{"cpu.group", DeclinesOffCpu, comm::RunAllReduceAddRmsNorm}}},
      {"all_reduce_batch_invariant", {{"cpu.group", DeclinesOffCpu, comm::RunAllReduce}}},
      {"all_reduce_rms_norm", {{"cpu.group", DeclinesOffCpu, comm::RunAllReduceRmsNorm}}},
      {"all_to_all", {{"cpu.group", DeclinesOffCpu, comm::RunAllToAll}}},
      {"batch_matmul_transpose",
       {{"cpu.product", DeclinesOffCpu, linear::RunBatchMatmulTranspose}}},
      {"bmm_batch_invariant", {{"cpu.dot", DeclinesOffCpu, linear::RunBatchInvariant}}},
      {"column_parallel_linear", {{"cpu.group", DeclinesOffCpu, comm::RunColumnParallelLinear}}},
      {"conv3d", {{"cpu.product", DeclinesOffCpu, linear::RunConv3d}}},
      {"dsv4_o_proj", {{"cpu.group", DeclinesOffCpu, comm::RunDsv4OProj}}},
      {"dynamic_scaled_fp8_quant",
       {{"cpu.two_pass", DeclinesOffCpu, quant::RunDynamicScaledFp8Quant}}},
      {"embedding_tp", {{"cpu.group", DeclinesOffCpu, embedding::RunEmbeddingTp}}},
      {"fp8_blockwise_scaled_mm", {{"cpu.dot", DeclinesOffCpu, linear::RunFp8BlockwiseScaledMm}}},
      {"fp8_scaled_mm", {{"cpu.dot", DeclinesOffCpu, linear::RunFp8ScaledMm}}},
      {"gated_mlp", {{"cpu.product", DeclinesOffCpu, linear::RunGatedMlp}}},
      {"int8_scaled_mm", {{"cpu.dot", DeclinesOffCpu, linear::RunInt8ScaledMm}}},
      {"linear", {{"cpu.product", DeclinesOffCpu, linear::RunLinear}}},
      {"linear_act", {{"cpu.product", DeclinesOffCpu, linear::RunLinearAct}}},
      {"linear_act_and_mul", {{"cpu.product", DeclinesOffCpu, linear::RunLinearActAndMul}}},
      {"linear_add", {{"cpu.product", DeclinesOffCpu, linear::RunLinearAdd}}},
      {"linear_all_reduce_add_rms_norm",
       {{"cpu.group", DeclinesOffCpu, comm::RunLinearAllReduceAddRmsNorm}}},
      {"linear_batch_invariant", {{"cpu.dot", DeclinesOffCpu, linear::RunBatchInvariant}}},
      {"lm_head_logits", {{"cpu.group", DeclinesOffCpu, embedding::RunLmHeadLogits}}},
      {"lmhead_all_to_all", {{"cpu.group", DeclinesOffCpu, embedding::RunLmHeadAllToAll}}},
      {"matmul", {{"cpu.product", DeclinesOffCpu, linear::RunMatmul}}},
      {"matmul_batch_invariant", {{"cpu.dot", DeclinesOffCpu, linear::RunBatchInvariant}}},
      {"maybe_all_gather_and_maybe_unpad",
       {{"cpu.group", DeclinesOffCpu, comm::RunAllGatherUnpad}}},
      {"maybe_pad_and_reduce", {{"cpu.group", DeclinesOffCpu, comm::RunPadReduce}}},
      {"mean_batch_invariant", {{"cpu.sums", DeclinesOffCpu, norm::RunMeanBatchInvariant}}},
      {"merged_linear", {{"cpu.product", DeclinesOffCpu, linear::RunSplitLinear}}},
      {"norm_gated_mlp", {{"cpu.product", DeclinesOffCpu, linear::RunNormGatedMlp}}},
      {"oproj_row_parallel_linear",
       {{"cpu.group", DeclinesOffCpu, comm::RunOProjRowParallelLinear}}},
      {"qkv_linear", {{"cpu.product", DeclinesOffCpu, linear::RunSplitLinear}}},
      {"qwen2_decoder_layer",
       {{"cpu.composition", DeclinesOffCpu, attention::RunQwen2DecoderLayer}}},
      {"reduce_scatter", {{"cpu.group", DeclinesOffCpu, comm::RunReduceScatter}}},
      {"row_parallel_linear", {{"cpu.group", DeclinesOffCpu, comm::RunRowParallelLinear}}},
      {"split_qkv_tp_rmsnorm_rope",
       {{"cpu.group", DeclinesOffCpu, rope::RunSplitQkvTpRmsNormRope}}},
      {"vocab_parallel_embedding", {{"cpu.rows", DeclinesOffCpu, embedding::LookUp}}},
      {"w8a8_dynamic_linear", {{"cpu.dot", DeclinesOffCpu, linear::RunW8a8DynamicLinear}}},
      {"weight_prefetch_", {{"cpu.prefetch", DeclinesOffCpu, linear::RunWeightPrefetch}}},
  };
  return *table;
}

}  // namespace

OperatorFunction FunctionOf(const Operator& op) {
  const OperatorFunction function = op.contract().function();
  return function != nullptr ? function : StructuralKernels(op).back().run;
}

std::span<const Kernel> StructuralKernels(const Operator& op) {
  const auto it = Table().find(op.name());
  if (it != Table().end()) return it->second;
  TENON_ASSERT(op.contract().function() != nullptr, "{} has no kernel", op.name());
  return kFunction;
}

}  // namespace tenon::ops
