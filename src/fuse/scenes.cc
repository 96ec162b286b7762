#include "fuse/scene_rows.h"

namespace tenon::fuse {
namespace {

// The framework's compiler fuses what it lowers itself, in one compiled region.
const DoneBy kCompiler{
    .by = "inductor (compiled region)", .platforms = "cuda rocm", .when = {"compiled"}};

constexpr std::string_view kQkNormRopeFlag =
    "--compilation-config '{\"pass_config\": {\"enable_qk_norm_rope_fusion\": true}}'";

std::vector<DoneBy> QkNormRopeDone() {
  return {{.by = "vLLM pass qk_norm_rope_fusion (off at every optimisation level)",
           .platforms = "cuda",
           .status = "optin",
           .flag = kQkNormRopeFlag,
           .when = {"compiled", "head_dim_64_128_256", "half_precision", "eps_1e-5_or_1e-6",
                    "norm_has_weight", "plain_norm_weight", "plain_rope", "span_head"}},
          {.by = "vLLM pass qk_norm_rope_kvcache_fusion",
           .platforms = "rocm",
           .when = {"compiled", "half_precision", "norm_has_weight", "span_head"}},
          {.by = "vllm-ascend graph pass qknorm_rope",
           .platforms = "ascend",
           .when = {"bfloat16", "head_dim_128", "norm_has_weight", "plain_rope", "span_head"}}};
}

std::vector<Scene> NormRopeScenes() {
  return OfType(
      "Norm",
      {{.id = "N1",
        .chain = "rms_norm rotary_embedding",
        .name = "rms_norm_rope",
        .title = "RMSNorm + RoPE",
        .legal = {"per_head_norm"},
        .done = {kCompiler},
        .no_gain_when = "the norm spans more than the rotated head",
        .row_wise = true,
        .interface = "def rms_norm_rope(x: Tensor, weight: Tensor | None, cos_sin_cache: Tensor, "
                     "positions: Tensor, eps: float = 1e-6, is_neox: bool = True, *, "
                     "rope_dim_offset: int = 0, weight_offset: float = 0.0) -> Tensor"},
       {.id = "N2",
        .chain = "qk_norm rotary_embedding",
        .name = "fused_qk_norm_rope",
        .title = "QK norm + RoPE",
        .legal = {"rope_after_norm"},
        .blocked_unless = {"rank_local_statistic"},
        .done = QkNormRopeDone(),
        .near_from = 1,
        .no_gain_when = "the norm comes after the rotation, or spans several ranks",
        .row_wise = true,
        .interface =
            "def fused_qk_norm_rope(q: Tensor, k: Tensor, q_weight: Tensor | None, k_weight: "
            "Tensor | None, cos_sin_cache: Tensor, positions: Tensor, eps: float = 1e-6, is_neox: "
            "bool = True, *, weight_offset: float = 0.0) -> tuple[Tensor, Tensor]"}});
}

std::vector<Scene> NormScenes() {
  return OfType(
      "Norm",
      {{.id = "N3",
        .chain = "{rms_norm,layer_norm,fused_add_rms_norm} gate_up_proj *_and_mul",
        .name = "norm_gated_mlp",
        .title = "norm as prologue of the gated MLP's product",
        .max_tokens = 64,
        .no_gain_when = "more than 64 tokens: the prologue recomputes the norm for every column "
                        "tile of the product",
        .effort = 2,
        .interface = "def norm_gated_mlp(x: Tensor, norm_weight: Tensor, gate_up_weight: Tensor, "
                     "residual: Tensor | None = None, eps: float = 1e-6, act: str = \"silu\") -> "
                     "tuple[Tensor, Tensor | None]"},
       {.id = "N4",
        .chain = "{rms_norm,fused_add_rms_norm,qk_norm} quantize",
        .name = "rms_norm_quant",
        .title = "norm + quantisation",
        .done = {{.by = "vLLM pass fuse_norm_quant",
                  .platforms = "cuda",
                  .when = {"compiled", "plain_norm_weight"}},
                 {.by = "vLLM pass fuse_norm_quant", .platforms = "rocm", .when = {"compiled"}},
                 {.by = "vllm-ascend graph pass fuse_norm_quant", .platforms = "ascend"}},
        .no_gain_when = "the model is not quantised",
        .row_wise = true,
        .interface = "def fused_add_rms_norm_dynamic_per_token_quant(x: Tensor, residual: Tensor, "
                     "weight: Tensor | None, eps: float = 1e-6, *, dtype: dtype, bias: Tensor | "
                     "None = None, weight_offset: float = 0.0) -> tuple[Tensor, Tensor, Tensor]"},
       {.id = "N5",
        .chain = "all_reduce {rms_norm,fused_add_rms_norm}",
        .name = "all_reduce_add_rms_norm",
        .title = "all-reduce + norm",
        .no_gain_unless = {"several_ranks"},
        .done = {{.by = "vLLM pass fuse_allreduce_rms (O2, FlashInfer)",
                  .platforms = "cuda",
                  .when = {"compiled", "several_ranks", "message_below_limit"}}},
        .near_from = 1,
        .no_gain_when = "one rank, or messages above the size limit of the one-shot kernel",
        .effort = 3,
        .crosses_layers = true,
        .interface =
            "def all_reduce_add_rms_norm(x: Tensor, residual: Tensor, weight: Tensor | None, eps: "
            "float, group_name: str, *, weight_offset: float = 0.0) -> tuple[Tensor, Tensor]"},
       {.id = "N6",
        .chain = "rms_norm ~rms_norm",
        .name = "fused_dual_rms_norm",
        .title = "two norms of one split",
        .legal = {"distinct_slices"},
        .done =
            {{.by = "vLLM fused_q_kv_rmsnorm",
              .platforms = "cuda",
              .status = "optin",
              .flag = "fuse_qkv_rmsnorm"},
             {.by = "vLLM pass fuse_mla_dual_rms_norm", .platforms = "rocm", .when = {"compiled"}}},
        .no_gain_when = "prefill: the launch is hidden behind the running kernel",
        .row_wise = true,
        .interface = "def fused_dual_rms_norm(x: Tensor, sizes: list[int], weights: list[Tensor], "
                     "eps: list[float]) -> list[Tensor]"}});
}

std::vector<Scene> ResidualScenes() {
  return OfType(
      "Norm",
      {{.id = "V2",
        .chain = "[mul] add {rms_norm,layer_norm}",
        .name = "fused_scale_add_rms_norm",
        .title = "residual arithmetic + norm",
        .legal = {"residual_add", "scalar_mul"},
        .done = {kCompiler},
        .subsumes = {"V1"},
        .multi_output = true,
        .no_gain_when = "a second norm reads the sum in another precision",
        .row_wise = true,
        .crosses_layers = true,
        .interface =
            "def fused_scale_add_rms_norm(x: Tensor, residual: Tensor, scale: float, weight: "
            "Tensor, eps: float, weight_offset: float = 0.0) -> tuple[Tensor, Tensor]"},
       {.id = "V2",
        .chain = "rms_norm fused_add_rms_norm",
        .name = "fused_norm_add_norm",
        .title = "norm + residual add + norm (sandwich norms)",
        .done = {kCompiler},
        .no_gain_when = "the first norm's result is needed elsewhere",
        .row_wise = true,
        .crosses_layers = true,
        .interface =
            "def fused_norm_add_norm(x: Tensor, residual: Tensor, post_weight: Tensor, pre_weight: "
            "Tensor, eps: float, weight_offset: float = 0.0) -> tuple[Tensor, Tensor]"},
       {.id = "V2",
        .chain = "{rms_norm,layer_norm} add",
        .name = "fused_norm_add",
        .title = "norm + residual add (post-norm)",
        .legal = {"residual_add"},
        .done = {kCompiler},
        .no_gain_when = "the norm's result is needed elsewhere",
        .row_wise = true,
        .interface = "def fused_norm_add(x: Tensor, residual: Tensor, weight: Tensor, eps: float) "
                     "-> Tensor"}});
}

std::vector<Scene> VectorScenes() {
  return OfType(
      "Vector",
      {{.id = "V1",
        .chain = "elementwise elementwise+",
        .name = "fused_elementwise",
        .title = "element-wise chain",
        .legal = {"at_most_4_inputs", "no_late_operand"},
        .done = {kCompiler},
        .no_gain_when = "every intermediate result is needed elsewhere",
        .row_wise = true,
        .interface = "def fused_elementwise(inputs: list[Tensor], expr: str) -> Tensor"}});
}

Scene ActAndMul(std::string_view id, std::string_view chain, std::string_view title) {
  return {.id = id,
          .chain = chain,
          .name = "act_and_mul",
          .title = title,
          .legal = {"two_tensor_mul"},
          .done = {kCompiler},
          .subsumes = {"V1"},
          .no_gain_when = "the activation's result is needed elsewhere",
          .row_wise = true,
          .interface = "def act_and_mul(gate: Tensor, up: Tensor, act: str) -> Tensor"};
}

std::vector<Scene> ActivationScenes() {
  return OfType(
      "Activation",
      {Fused("C1", "silu_and_mul", "SiLU + Mul", "SiluAndMul (silu_and_mul)"),
       ActAndMul("C1", "silu mul", "SiLU + Mul"),
       Fused("C2", "{gelu_and_mul,gelu_tanh_and_mul}", "GELU + Mul", "GeluAndMul (gelu_and_mul)"),
       ActAndMul("C2", "{gelu,gelu_tanh} mul", "GELU + Mul"),
       {.id = "C3",
        .chain = "{sigmoid,relu,relu2,tanh,softplus,xielu} mul",
        .name = "fused_sigmoid_mul",
        .title = "gate + activation + Mul",
        .legal = {"two_tensor_mul"},
        .no_gain_unless = {"full_width_gate"},
        .done = {kCompiler},
        .subsumes = {"V1"},
        .no_gain_when = "the gate is one number per token",
        .row_wise = true,
        .interface = "def fused_sigmoid_mul(x: Tensor, gate: Tensor) -> Tensor"}});
}

std::vector<Scene> AttentionScenes() {
  constexpr std::string_view kSplitInterface =
      "def split_qkv_rmsnorm_rope(qkv: Tensor, cos_sin_cache: Tensor, positions: Tensor, q_weight: "
      "Tensor | None, k_weight: Tensor | None, num_heads: int, num_kv_heads: int, head_dim: int, "
      "eps: float = 1e-6, *, q_bias: Tensor | None = None, k_bias: Tensor | None = None, is_neox: "
      "bool = True, weight_offset: float = 0.0) -> tuple[Tensor, Tensor, Tensor]";
  return OfType(
      "Attention",
      {{.id = "A1",
        .chain = "split qk_norm rotary_embedding",
        .name = "split_qkv_rmsnorm_rope",
        .title = "QKV split + QK norm + RoPE",
        .legal = {"rope_after_norm", "span_head"},
        .done = QkNormRopeDone(),
        .subsumes = {"N1", "N2"},
        .no_gain_when = "never at these sizes while q and k stay in registers",
        .row_wise = true,
        .interface = kSplitInterface},
       {.id = "A1",
        .chain = "split qk_norm rotary_embedding",
        .name = "split_qkv_tp_rmsnorm_rope",
        .title = "QKV split + QK norm over all heads + RoPE",
        .legal = {"rope_after_norm", "span_full"},
        .blocked_unless = {"rank_local_statistic"},
        .done = {{.by = "split_qkv_tp_rmsnorm_rope", .platforms = "ascend", .when = {"bfloat16"}}},
        .subsumes = {"N1", "N2"},
        .no_gain_when = "the statistic spans several ranks",
        .effort = 3,
        .interface = "def split_qkv_tp_rmsnorm_rope(qkv: Tensor, cos_sin_cache: Tensor, positions: "
                     "Tensor, q_weight: Tensor, k_weight: Tensor, num_heads: int, num_kv_heads: "
                     "int, head_dim: int, eps: float = 1e-6, group_name: str = \"\", *, is_neox: "
                     "bool = True) -> tuple[Tensor, Tensor, Tensor]"},
       {.id = "A1b",
        .chain = "rotary_embedding attention",
        .name = "fused_rope_kv_write",
        .title = "RoPE + write of the KV cache",
        .legal = {"kv_write"},
        .done = {{.by = "vLLM pass fuse_rope_kvcache", .platforms = "rocm", .when = {"compiled"}}},
        .no_gain_when = "the attention backend writes K itself in another layout",
        .cost_of_last = "kv_write",
        .interface = "def fused_rope_kv_write(q: Tensor, k: Tensor, v: Tensor, positions: Tensor, "
                     "cos_sin_cache: Tensor, key_cache: Tensor, value_cache: Tensor, slot_mapping: "
                     "Tensor, rotary_dim: int, is_neox: bool, k_scale: Tensor | None = None, "
                     "v_scale: Tensor | None = None) -> Tensor"},
       Fused("A2", "attention", "softmax + product with V", "attention kernel"),
       Fused("A3", "attention", "mask + softmax", "attention kernel")});
}

}  // namespace

std::vector<Scene> OfType(std::string_view type, std::vector<Scene> rows) {
  for (Scene& row : rows) row.type = type;
  return rows;
}

Scene Fused(std::string_view id, std::string_view chain, std::string_view title,
            std::string_view by) {
  return {.id = id, .chain = chain, .title = title, .done = {{.by = by}}};
}

std::span<const Scene> Scenes() {
  static const std::vector<Scene> rows = [] {
    std::vector<Scene> all;
    for (const auto& part : {NormRopeScenes(), NormScenes(), ResidualScenes(), VectorScenes(),
                             ActivationScenes(), AttentionScenes(), MatMulScenes(), MoeScenes()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return rows;
}

}  // namespace tenon::fuse
