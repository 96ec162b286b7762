// Scenes around matrix products and experts: what is done already, what could be, and why not.
#include "fuse/scene_rows.h"

namespace tenon::fuse {
namespace {

// Products that read one input, as one product with their weights packed.
Scene Packed(std::string_view id, std::string_view chain, std::string_view name,
             std::string_view title) {
  return {.id = id,
          .chain = chain,
          .name = name,
          .title = title,
          .legal = {"same_quantisation"},
          .no_gain_when = "the projections are quantised or sharded differently",
          .effort = 2,
          .interface =
              "def packed_linear(x: Tensor, weights: list[Tensor], biases: list[Tensor | None]) -> "
              "list[Tensor]"};
}

}  // namespace

std::vector<Scene> MatMulScenes() {
  return OfType(
      "MatMul",
      {{.id = "M2",
        .chain = "{*_proj,linear,router_gate}",
        .title = "linear + bias",
        .legal = {"has_bias"},
        .done = {{.by = "F.linear (epilogue of the product)"}}},
       Fused("M3", "{qkv_proj,qkv_a_proj}", "Q, K and V in one product",
             "QKVParallelLinear (packed weights)"),
       Packed("M3", "q_proj ~{k_proj,v_proj}+", "qkv_linear", "Q, K and V in one product"),
       Packed("M3", "in_proj ~in_proj", "merged_linear", "projections of one input in one product"),
       Fused("M4", "gate_up_proj", "gate and up in one product",
             "MergedColumnParallelLinear (packed weights)"),
       Packed("M4", "gate_proj ~up_proj", "merged_linear", "gate and up in one product"),
       {.id = "M4",
        .chain = "gate_up_proj *_and_mul down_proj",
        .name = "gated_mlp",
        .title = "the whole gated MLP in one kernel",
        .no_gain_unless = {"weights_fit_cache"},
        .max_tokens = 32,
        .no_gain_when = "more than 32 tokens, or weights that exceed the last-level cache: the "
                        "products are bound by their weights",
        .effort = 2,
        .interface = "def gated_mlp(x: Tensor, gate_up_weight: Tensor, down_weight: Tensor, act: "
                     "str = \"silu\") -> Tensor"},
       {.id = "M5",
        .chain = "gate_up_proj *_and_mul",
        .name = "linear_act_and_mul",
        .title = "gated activation as epilogue of the product",
        .no_gain_when = "decode: the bytes saved are below 1 % of the weights read; needs "
                        "interleaved gate and up rows",
        .effort = 2,
        .interface = "def linear_act_and_mul(x: Tensor, weight: Tensor, bias: Tensor | None = "
                     "None, act: str = \"silu\") -> Tensor"},
       {.id = "M5",
        .chain = "{up_proj,linear} {relu,relu2,gelu,gelu_tanh,quick_gelu,silu}",
        .name = "linear_act",
        .title = "activation as epilogue of the product",
        .no_gain_when = "decode: the bytes saved are below 1 % of the weights read",
        .interface =
            "def linear_act(x: Tensor, weight: Tensor, bias: Tensor | None, act: str) -> Tensor"},
       Fused("M6", "attention", "product + softmax", "attention kernel"),
       {.id = "M9",
        .chain = "{o_proj,down_proj,linear} [all_reduce] add",
        .name = "linear_add",
        .title = "residual add as epilogue of the product",
        .legal = {"residual_add"},
        .blocked_unless = {"no_collective"},
        .no_gain_when = "a sum over ranks stands between product and add",
        .interface = "def linear_add(x: Tensor, weight: Tensor, bias: Tensor | None, residual: "
                     "Tensor) -> Tensor"}});
}

std::vector<Scene> MoeScenes() {
  return OfType(
      "MoE",
      {Fused("E1", "topk fused_moe", "routing + experts", "fused MoE kernels (permutation inside)"),
       {.id = "E2",
        .chain = "router_gate topk",
        .name = "fused_gate_topk",
        .title = "router product + top-k",
        .max_tokens = 64,
        .no_gain_when =
            "more than 64 tokens: the tile of the product no longer fits one block's row",
        .interface = "def fused_gate_topk(x: Tensor, gate_weight: Tensor, bias: Tensor | None, "
                     "top_k: int, scoring: str, num_group: int = 1, topk_group: int = 1, "
                     "renormalize: bool = True, scale: float = 1.0) -> tuple[Tensor, Tensor]"},
       {.id = "E4",
        .chain = "fused_moe [mul] [add] [all_reduce] {fused_add_rms_norm,rms_norm}",
        .name = "fused_moe_epilogue",
        .title = "experts' sum + residual arithmetic + norm",
        .no_gain_when = "the next consumer is not a norm",
        .effort = 3,
        .crosses_layers = true,
        .interface = "def fused_moe_epilogue(routed: Tensor, topk_weights: Tensor | None, shared: "
                     "Tensor | None, routed_scale: float, residual: Tensor | None, norm_weight: "
                     "Tensor | None, eps: float) -> tuple[Tensor, Tensor | None]"}});
}

}  // namespace tenon::fuse
