// Scenes around matrix products and experts: what is done already, what could be, and why not.
#include "fuse/scenes.h"

namespace tenon::fuse {
namespace {

constexpr std::string_view kPackedLinear =
    "def packed_linear(x: Tensor, weights: list[Tensor], biases: list[Tensor | None]) -> "
    "list[Tensor]";

}  // namespace

std::vector<Scene> MatMulScenes() {
  std::vector<Scene> rows;
  rows.push_back({.id = "M2",
                  .type = "MatMul",
                  .chain = "{*_proj,linear,router_gate}",
                  .title = "linear + bias",
                  .legal = {"has_bias"},
                  .done = {{"any", "fused", "F.linear (epilogue of the product)", "", {}}}});
  rows.push_back({.id = "M3",
                  .type = "MatMul",
                  .chain = "{qkv_proj,qkv_a_proj}",
                  .title = "Q, K and V in one product",
                  .done = {{"any", "fused", "QKVParallelLinear (packed weights)", "", {}}}});
  rows.push_back({.id = "M3",
                  .type = "MatMul",
                  .chain = "q_proj ~{k_proj,v_proj}+",
                  .name = "qkv_linear",
                  .title = "Q, K and V in one product",
                  .legal = {"same_stream", "same_quantisation"},
                  .no_gain_when = "the projections are quantised or sharded differently",
                  .effort = 2,
                  .interface = kPackedLinear});
  rows.push_back({.id = "M3",
                  .type = "MatMul",
                  .chain = "in_proj ~in_proj",
                  .name = "merged_linear",
                  .title = "projections of one input in one product",
                  .legal = {"same_stream", "same_quantisation"},
                  .no_gain_when = "the projections are quantised or sharded differently",
                  .effort = 2,
                  .interface = kPackedLinear});
  rows.push_back(
      {.id = "M4",
       .type = "MatMul",
       .chain = "gate_up_proj",
       .title = "gate and up in one product",
       .done = {{"any", "fused", "MergedColumnParallelLinear (packed weights)", "", {}}}});
  rows.push_back({.id = "M4",
                  .type = "MatMul",
                  .chain = "gate_proj ~up_proj",
                  .name = "merged_linear",
                  .title = "gate and up in one product",
                  .legal = {"same_stream", "same_quantisation"},
                  .no_gain_when = "the projections are quantised or sharded differently",
                  .effort = 2,
                  .interface = kPackedLinear});
  rows.push_back({.id = "M4",
                  .type = "MatMul",
                  .chain = "gate_up_proj *_and_mul down_proj",
                  .name = "gated_mlp",
                  .title = "the whole gated MLP in one kernel",
                  .legal = {"same_stream", "same_extent"},
                  .no_gain_unless = {"weights_fit_cache"},
                  .max_tokens = 32,
                  .no_gain_when =
                      "more than 32 tokens, or weights that exceed the last-level cache: "
                      "the products are bound by their weights",
                  .effort = 2,
                  .interface = "def gated_mlp(x: Tensor, gate_up_weight: Tensor, down_weight: "
                               "Tensor, act: str = \"silu\") -> Tensor"});
  rows.push_back({.id = "M5",
                  .type = "MatMul",
                  .chain = "gate_up_proj *_and_mul",
                  .name = "linear_act_and_mul",
                  .title = "gated activation as epilogue of the product",
                  .legal = {"same_stream", "same_extent"},
                  .no_gain_when =
                      "decode: the bytes saved are below 1 % of the weights read; needs "
                      "interleaved gate and up rows",
                  .effort = 2,
                  .interface = "def linear_act_and_mul(x: Tensor, weight: Tensor, bias: Tensor | "
                               "None = None, act: str = \"silu\") -> Tensor"});
  rows.push_back({.id = "M5",
                  .type = "MatMul",
                  .chain = "{up_proj,linear} {relu,relu2,gelu,gelu_tanh,quick_gelu,silu}",
                  .name = "linear_act",
                  .title = "activation as epilogue of the product",
                  .legal = {"same_stream", "same_extent"},
                  .no_gain_when = "decode: the bytes saved are below 1 % of the weights read",
                  .interface =
                      "def linear_act(x: Tensor, weight: Tensor, bias: Tensor | None, act: "
                      "str) -> Tensor"});
  rows.push_back({.id = "M6",
                  .type = "MatMul",
                  .chain = "attention",
                  .title = "product + softmax",
                  .done = {{"any", "fused", "attention kernel", "", {}}}});
  rows.push_back({.id = "M9",
                  .type = "MatMul",
                  .chain = "{o_proj,down_proj,linear} [all_reduce] add",
                  .name = "linear_add",
                  .title = "residual add as epilogue of the product",
                  .legal = {"same_stream", "same_extent", "residual_add"},
                  .blocked_unless = {"no_collective"},
                  .no_gain_when = "a sum over ranks stands between product and add",
                  .interface = "def linear_add(x: Tensor, weight: Tensor, bias: Tensor | None, "
                               "residual: Tensor) -> Tensor"});
  return rows;
}

std::vector<Scene> MoeScenes() {
  std::vector<Scene> rows;
  rows.push_back({.id = "E1",
                  .type = "MoE",
                  .chain = "topk fused_moe",
                  .title = "routing + experts",
                  .done = {{"any", "fused", "fused MoE kernels (permutation inside)", "", {}}}});
  rows.push_back({.id = "E2",
                  .type = "MoE",
                  .chain = "router_gate topk",
                  .name = "fused_gate_topk",
                  .title = "router product + top-k",
                  .legal = {"same_extent"},
                  .max_tokens = 64,
                  .no_gain_when = "more than 64 tokens: the tile of the product no longer fits one "
                                  "block's row",
                  .interface =
                      "def fused_gate_topk(x: Tensor, gate_weight: Tensor, bias: Tensor | "
                      "None, top_k: int, scoring: str, num_group: int = 1, topk_group: int "
                      "= 1, renormalize: bool = True, scale: float = 1.0) -> tuple[Tensor, "
                      "Tensor]"});
  rows.push_back({.id = "E4",
                  .type = "MoE",
                  .chain = "fused_moe [mul] [add] [all_reduce] {fused_add_rms_norm,rms_norm}",
                  .name = "fused_moe_epilogue",
                  .title = "experts' sum + residual arithmetic + norm",
                  .no_gain_when = "the next consumer is not a norm",
                  .effort = 3,
                  .crosses_layers = true,
                  .interface =
                      "def fused_moe_epilogue(routed: Tensor, topk_weights: Tensor | None, "
                      "shared: Tensor | None, routed_scale: float, residual: Tensor | "
                      "None, norm_weight: Tensor | None, eps: float) -> tuple[Tensor, "
                      "Tensor | None]"});
  return rows;
}

}  // namespace tenon::fuse
