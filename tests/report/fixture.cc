#include "report/fixture.h"

namespace tenon::report {
namespace {

using analyze::Op;
using analyze::TensorUse;
using ir::Dim;

constexpr const char* kFile = "vllm/model_executor/models/tiny.py";

TensorUse Tokens(int id, int64_t width, std::string axis) {
  return {id, {Dim("T"), Dim(width)}, {"T", std::move(axis)}, "bfloat16", {}, ""};
}

TensorUse Weight(int id, analyze::Shape shape, std::string name) {
  return {id, std::move(shape), {}, "bfloat16", std::move(name), ""};
}

// Two bytes an element; weights are constants of the polynomial.
Op MakeOp(int i, std::string op, std::string name, std::vector<TensorUse> in,
          std::vector<TensorUse> out, int line, std::string symbol) {
  Op made;
  made.i = i;
  made.op = std::move(op);
  made.name = std::move(name);
  Dim read;
  Dim written;
  for (const TensorUse& use : in) read = read + ir::Product(use.shape) * Dim(2);
  for (const TensorUse& use : out) written = written + ir::Product(use.shape) * Dim(2);
  made.in = std::move(in);
  made.out = std::move(out);
  made.bytes_read = read;
  made.bytes_written = written;
  made.file = kFile;
  made.line = line;
  made.symbol = std::move(symbol);
  made.stack = {std::string(kFile) + ":31"};
  return made;
}

analyze::Variant TinyLayer() {
  const std::string attention = "TinyAttention.forward";
  const std::string layer = "TinyDecoderLayer.forward";
  analyze::Variant variant;
  variant.layer_class = "TinyDecoderLayer";
  variant.layers = {0, 1, 2, 5};
  variant.first_layer = {{0, "op 0 is rms_norm instead of fused_add_rms_norm"}};
  variant.compiled = true;
  std::vector<Op>& ops = variant.ops;
  ops.push_back(MakeOp(0, "fused_add_rms_norm", "input_layernorm",
                       {Tokens(0, 256, "hidden"), Tokens(1, 256, "hidden"),
                        Weight(2, {Dim(256)}, "input_layernorm.weight")},
                       {Tokens(3, 256, "hidden"), Tokens(4, 256, "hidden")}, 24, layer));
  ops.back().attrs = {{"width", "hidden"}, {"eps", 1e-6}, {"has_weight", true}};
  ops.push_back(MakeOp(
      1, "qkv_proj", "self_attn.qkv_proj",
      {Tokens(3, 256, "hidden"), Weight(5, {Dim(384), Dim(256)}, "self_attn.qkv_proj.weight")},
      {Tokens(6, 384, "qkv")}, 14, attention));
  ops.back().attrs = {{"shapes", analyze::Attr::List{256, 64, 64}}, {"bias", analyze::Attr()}};
  ops.push_back(MakeOp(2, "qk_norm", "self_attn.q_norm", {Tokens(6, 320, "qk")},
                       {Tokens(7, 320, "qk")}, 16, attention));
  ops.push_back(MakeOp(3, "rotary_embedding", "self_attn.rotary_emb", {Tokens(7, 320, "qk")},
                       {Tokens(8, 320, "qk")}, 18, attention));
  ops.push_back(MakeOp(4, "attention", "self_attn.attn", {Tokens(8, 320, "qk"), Tokens(6, 64, "v")},
                       {Tokens(9, 256, "hidden")}, 19, attention));
  ops.push_back(MakeOp(
      5, "o_proj", "self_attn.o_proj",
      {Tokens(9, 256, "hidden"), Weight(10, {Dim(256), Dim(256)}, "self_attn.o_proj.weight")},
      {Tokens(11, 256, "hidden")}, 19, attention));
  ops.push_back(MakeOp(6, "all_reduce", "", {Tokens(11, 256, "hidden")},
                       {Tokens(12, 256, "hidden")}, 19, attention));
  ops.back().implicit = true;
  ops.back().name = std::nullopt;
  ops.push_back(MakeOp(7, "opaque", "", {Tokens(12, 256, "hidden"), Tokens(4, 256, "hidden")},
                       {Tokens(13, 256, "hidden")}, 26, layer));
  ops.back().name = std::nullopt;
  ops.back().bytes_read = std::nullopt;
  ops.back().attrs = {{"reason", "torch.special.erfcx is not in the table of functions"},
                      {"text", "torch.special.erfcx(hidden_states)"}};
  return variant;
}

fuse::Opportunity QkNormRope() {
  fuse::Opportunity o;
  o.id = 1;
  o.scene = "A1";
  o.type = "Attention";
  o.title = "QKV split + norm + RoPE";
  o.ops = {2, 3};
  o.status = "open";
  o.priority = 1;
  o.files = {{kFile, {16, 17, 18}}};
  o.interface =
      "def split_qkv_rmsnorm_rope(qkv: Tensor, q_weight: Tensor) -> Tensor\n"
      "    # qkv [T, 384] bfloat16 -> q [T, 256] & k [T, 64]";
  o.subsumes = {"N2"};
  o.ir = "graph split_qkv_rmsnorm_rope {}";
  o.benefit.launches_before = 3;
  o.benefit.launches_after = 1;
  o.benefit.per_tokens = {{1, 2560, 1280, 4.5, true}, {4096, 10485760, 5242880, 8.25, true}};
  o.benefit.condition = "the norm spans the whole row | predicted: 1 tokens: 2 launches = 4.5 us";
  return o;
}

fuse::Findings TinyFindings() {
  fuse::Findings findings;
  findings.opportunities.push_back(QkNormRope());

  fuse::Opportunity fused;
  fused.id = 2;
  fused.scene = "V2";
  fused.type = "Norm";
  fused.title = "residual add + norm";
  fused.ops = {0};
  fused.status = "fused";
  fused.by = "fused_add_rms_norm";
  fused.files = {{kFile, {24}}};
  findings.opportunities.push_back(fused);

  fuse::Opportunity blocked;
  blocked.id = 3;
  blocked.scene = "M9";
  blocked.type = "MatMul";
  blocked.title = "add + matmul";
  blocked.ops = {5, 6};
  blocked.status = "blocked";
  blocked.reason = "an all_reduce stands between o_proj and the residual";
  findings.opportunities.push_back(blocked);

  findings.near_misses.push_back({"N4", 0, {0}, 1, 2, "qkv_proj is not quantised", kFile, 14});
  findings.dead.push_back({"registration", "TinyNorm", "no class has this name", kFile, 9});
  return findings;
}

}  // namespace

Report TinyReport() {
  Report report;
  analyze::Analysis& a = report.analysis;
  a.input = {"TinyForCausalLM", "architecture", {}, {}};
  a.environment.vllm_version = "0.33.0";
  a.environment.platform = "cuda";
  a.environment.dtype = "bfloat16";
  a.environment.tokens = {1, 4096};
  a.model.architecture = "TinyForCausalLM";
  a.model.registry_table = "_TEXT_GENERATION_MODELS";
  a.model.module = "vllm.model_executor.models.tiny";
  a.model.cls = "TinyForCausalLM";
  a.model.config = {{"hidden_size", 256, "builtin", "model card"}, {"window", {}, "unknown", ""}};
  a.locations.main.location = {"TinyForCausalLM", kFile, 29};
  a.locations.decoder_layers = {{{"TinyDecoderLayer", kFile, 22}, {0, 1, 2, 5}, ""}};
  a.locations.attention = {{{"TinyAttention", kFile, 12}, {0, 1, 2, 5}, "gqa"}};
  a.variants.push_back(TinyLayer());
  a.outside_layers.push_back(MakeOp(0, "embedding", "model.embed_tokens", {},
                                    {Tokens(0, 256, "hidden")}, 31, "TinyForCausalLM.forward"));
  a.assumptions.push_back({kFile, 13, "self.window is None", true, "window has no value"});
  a.diagnostics.push_back({"note", "W1", "config value 'window' is unknown", kFile, 13});
  a.stats = {1, 1, 7, {}};
  a.source_root = std::string(TENON_SOURCE_DIR) + "/tests/report/fixture";
  report.findings = TinyFindings();
  report.device = "NVIDIA H200 SXM";
  return report;
}

}  // namespace tenon::report
