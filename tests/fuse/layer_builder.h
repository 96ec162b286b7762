// Small decoder layers as the analyser would give them, built operator by operator.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analyze/analysis.h"
#include "analyze/lower.h"
#include "fuse/model.h"

namespace tenon::fuse {

class LayerBuilder {
 public:
  using Tensor = analyze::TensorUse;

  explicit LayerBuilder(std::string layer_class) { variant_.layer_class = std::move(layer_class); }

  // A tensor of the layer: the tokens, then the given sizes.
  Tensor New(std::vector<int64_t> sizes, std::string dtype = "bfloat16") {
    Tensor use;
    use.id = next_id_++;
    use.dtype = std::move(dtype);
    use.shape = {ir::Dim("T")};
    use.axes = {"tokens"};
    constexpr const char* kNames[] = {"channels", "head_dim"};
    for (size_t i = 0; i < sizes.size(); ++i) {
      use.shape.push_back(ir::Dim(sizes[i]));
      use.axes.push_back(sizes.size() == 2 && i == 0 ? "heads" : kNames[i]);
    }
    return use;
  }

  Tensor Weight(std::string name, std::vector<int64_t> sizes) {
    Tensor use = New(std::move(sizes));
    use.shape.erase(use.shape.begin());
    use.axes.erase(use.axes.begin());
    use.param = std::move(name);
    return use;
  }

  static Tensor Heads(Tensor use, int64_t heads, int64_t head_dim) {
    use.shape = {ir::Dim("T"), ir::Dim(heads), ir::Dim(head_dim)};
    use.axes = {"tokens", "heads", "head_dim"};
    return use;
  }

  analyze::Op& Add(std::string op, std::vector<Tensor> in, std::vector<Tensor> out,
                   analyze::Attr::Map attrs = {}) {
    analyze::Op& added = variant_.ops.emplace_back();
    added.i = static_cast<int>(variant_.ops.size()) - 1;
    added.op = std::move(op);
    added.in = std::move(in);
    added.out = std::move(out);
    added.attrs = std::move(attrs);
    if (added.op.ends_with("_proj")) {
      added.flops = ir::Product(added.out[0].shape) * added.in[0].shape.back() * 2;
    }
    added.file = "vllm/model_executor/models/tiny.py";
    added.line = 100 + added.i;
    added.aux = added.op == "split" || added.op == "cast";
    return added;
  }

  Layer Build(int variant, std::vector<int> layers, bool compiled) const {
    return {variant, std::move(layers), compiled, analyze::LowerVariant(variant_)};
  }

 private:
  analyze::Variant variant_;
  int next_id_ = 0;
};

// A Qwen3-like layer on `tp` ranks, with the changes that tests make to it.
struct QwenOptions {
  int tp = 2;
  int64_t hidden = 4096;
  int64_t heads = 32;
  int64_t kv_heads = 8;
  int64_t head_dim = 128;
  int64_t inter = 12288;
  bool rope_first = false;         // the norm comes after the rotation
  bool full_width_norm = false;    // the statistic spans all heads
  bool reuse_norm_output = false;  // a router reads the MLP norm, too
  bool compiled = true;
};

inline Layer QwenLayer(const QwenOptions& o) {
  LayerBuilder b("Qwen3DecoderLayer");
  using analyze::Attr;
  const int64_t q_size = o.heads * o.head_dim / o.tp;
  const int64_t kv_size = o.kv_heads * o.head_dim / o.tp;
  const int64_t inter = o.inter / o.tp;
  const auto positions = b.New({}, "int64");
  const auto hidden = b.New({o.hidden});
  const auto residual = b.New({o.hidden});
  const auto norm = [&](const auto& x, const auto& r, const std::string& name) {
    const auto y = b.New({o.hidden});
    const auto sum = b.New({o.hidden});
    b.Add("fused_add_rms_norm", {x, r, b.Weight(name + ".weight", {o.hidden})}, {y, sum},
          {{"eps", 1e-6}, {"width", "hidden"}});
    return std::pair(y, sum);
  };
  const auto linear = [&](const char* op, const auto& x, int64_t from, int64_t to) {
    const auto y = b.New({to});
    b.Add(op, {x, b.Weight(std::string(op) + ".weight", {to, from})}, {y});
    return y;
  };
  const auto reduce = [&](const auto& x) {
    if (o.tp == 1) return x;
    const auto y = b.New({o.hidden});
    b.Add("all_reduce", {x}, {y}, {{"implicit", true}});
    return y;
  };
  const auto [x, sum] = norm(hidden, residual, "input_layernorm");
  const auto qkv = linear("qkv_proj", x, o.hidden, q_size + 2 * kv_size);
  auto q = b.New({q_size});
  auto k = b.New({kv_size});
  const auto v = b.New({kv_size});
  b.Add("split", {qkv}, {q, k, v}, {{"sizes", Attr::List{Attr(q_size), Attr(kv_size)}}});
  const auto qk_norm = [&] {
    const int64_t heads = o.heads / o.tp;
    const int64_t kv_heads = o.kv_heads / o.tp;
    const bool full = o.full_width_norm;
    const auto q_in = full ? q : LayerBuilder::Heads(q, heads, o.head_dim);
    const auto k_in = full ? k : LayerBuilder::Heads(k, kv_heads, o.head_dim);
    const auto q_out = full ? b.New({q_size}) : b.New({heads, o.head_dim});
    const auto k_out = full ? b.New({kv_size}) : b.New({kv_heads, o.head_dim});
    b.Add("qk_norm",
          {q_in, k_in, b.Weight("self_attn.q_norm.weight", {full ? q_size : o.head_dim}),
           b.Weight("self_attn.k_norm.weight", {full ? kv_size : o.head_dim})},
          {q_out, k_out},
          {{"span", full ? "full" : "head"},
           {"eps", 1e-6},
           {"has_weight", true},
           {"order", o.rope_first ? "after_rope" : "before_rope"}});
    q = q_out, k = k_out;
    // The model flattens the heads again.
    q.shape = {ir::Dim("T"), ir::Dim(q_size)};
    k.shape = {ir::Dim("T"), ir::Dim(kv_size)};
    q.axes = k.axes = {"tokens", "channels"};
  };
  const auto rope = [&] {
    const auto q_out = b.New({q_size});
    const auto k_out = b.New({kv_size});
    b.Add("rotary_embedding", {positions, q, k}, {q_out, k_out},
          {{"style", "neox"},
           {"head_dim", o.head_dim},
           {"rotary_dim", o.head_dim},
           {"kind", "default"}});
    q = q_out, k = k_out;
  };
  if (o.rope_first) {
    rope(), qk_norm();
  } else {
    qk_norm(), rope();
  }
  const auto attended = b.New({q_size});
  b.Add("attention", {q, k, v}, {attended}, {{"kind", "gqa"}});
  const auto projected = reduce(linear("o_proj", attended, q_size, o.hidden));
  const auto [y, sum2] = norm(projected, sum, "post_attention_layernorm");
  const auto gate_up = linear("gate_up_proj", y, o.hidden, 2 * inter);
  if (o.reuse_norm_output) linear("router_gate", y, o.hidden, 64);
  const auto act = b.New({inter});
  b.Add("silu_and_mul", {gate_up}, {act});
  reduce(linear("down_proj", act, inter, o.hidden));
  std::vector<int> layers;
  for (int i = 0; i < 36; ++i) layers.push_back(i);
  return b.Build(0, layers, o.compiled);
}

inline Model QwenModel(const QwenOptions& options, std::string platform = "cuda") {
  Model model;
  model.platform = std::move(platform);
  model.tp = options.tp;
  model.tokens = {1, 4096};
  model.layers = {QwenLayer(options)};
  return model;
}

}  // namespace tenon::fuse
