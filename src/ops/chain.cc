#include "ops/chain.h"

#include <map>
#include <string_view>

#include "base/error.h"
#include "ops/strided.h"

namespace tenon::ops {
namespace {

constexpr std::monostate kNone;

// Builds the steps of one chain.
class Builder {
 public:
  explicit Builder(const Case& fused) : fused_(fused) {}

  Argument Tensor(std::string_view name) const {
    const BoundInput* input = fused_.call().FindInput(name);
    return input != nullptr && input->present ? Argument(input->tensor) : Argument(kNone);
  }
  int64_t Size(const char* name) const { return fused_.call().sizes.at(name); }
  Argument Attribute(const char* name) const {
    return std::visit([](const auto& value) { return Argument(value); },
                      fused_.call().attributes.at(name));
  }

  // The results of a call, which becomes a step.
  std::vector<tenon::Tensor> Call(std::string_view name, std::vector<Argument> arguments) {
    const Op op = Op::Find(name);
    std::vector<tenon::Tensor> results;
    for (const TensorSpec& spec : op.Infer(arguments)) {
      results.push_back(buffers.emplace_back(spec).tensor());
    }
    steps.push_back(
        [op, arguments = std::move(arguments), results] { op.Run(arguments, results); });
    return results;
  }

  tenon::Tensor Copy(const tenon::Tensor& from) {
    const std::vector<int64_t> shape(from.shape().begin(), from.shape().end());
    const tenon::Tensor to = buffers.emplace_back(TensorSpec{from.dtype, shape}).tensor();
    steps.push_back([from, to] { CopyStrided(from, to); });
    return to;
  }

  std::vector<std::function<void()>> steps;
  std::vector<Buffer> buffers;

 private:
  const Case& fused_;
};

void AddNorm(Builder& b) {
  const auto sum = b.Call("muls_add", {b.Tensor("x"), b.Tensor("residual"), 1.0});
  b.Call("rms_norm", {sum[0], b.Tensor("weight"), b.Attribute("eps")});
}

// The norm that a fused operator begins with; its second result is the sum, when it adds.
std::vector<tenon::Tensor> Norm(Builder& b, bool adds) {
  if (!adds) return b.Call("rms_norm", {b.Tensor("x"), b.Tensor("weight"), b.Attribute("eps")});
  return b.Call("fused_add_rms_norm",
                {b.Tensor("x"), b.Tensor("residual"), b.Tensor("weight"), b.Attribute("eps")});
}

void Quantise(Builder& b, const tenon::Tensor& x) {
  b.Call("quantize", {x, b.Tensor("scale"), b.Tensor("offset"), b.Attribute("dtype")});
}

void QuantisePerToken(Builder& b, const tenon::Tensor& x) {
  const bool is_int = std::get<std::string>(b.Attribute("dtype")) == "i8";
  b.Call(is_int ? "dynamic_scaled_int8_quant" : "dynamic_per_token_scaled_fp8_quant", {x});
}

void QuantisePerGroup(Builder& b, const tenon::Tensor& x) {
  b.Call("per_token_group_quant_fp8", {x, b.Size("group_size"), b.Attribute("scale_ue8m0")});
}

template <bool adds, void (*quantise)(Builder&, const tenon::Tensor&)>
void NormQuant(Builder& b) {
  quantise(b, Norm(b, adds)[0]);
}

template <void (*quantise)(Builder&, const tenon::Tensor&)>
void SiluQuant(Builder& b) {
  quantise(b, b.Call("silu_and_mul", {b.Tensor("x")})[0]);
}

void NormRope(Builder& b) {
  const auto n = b.Call("rms_norm", {b.Tensor("x"), b.Tensor("weight"), b.Attribute("eps")});
  b.Call("rotary_embedding", {b.Tensor("positions"), n[0], kNone, b.Size("head_size"),
                              b.Tensor("cos_sin_cache"), b.Attribute("is_neox")});
}

// The heads of `qkv` from `first` on, as [tokens, heads, dim].
tenon::Tensor Heads(const tenon::Tensor& qkv, int64_t first, int64_t heads, int64_t dim) {
  tenon::Tensor part = qkv;
  part.data = static_cast<char*>(qkv.data) + first * dim * ItemSize(qkv.dtype);
  part.rank = 3;
  part.sizes = {qkv.sizes[0], heads, dim};
  part.strides = {qkv.strides[0], dim, 1};
  return part;
}

void SplitNormRope(Builder& b) {
  const auto qkv = std::get<tenon::Tensor>(b.Tensor("qkv"));
  const int64_t heads = b.Size("num_heads");
  const int64_t kv_heads = b.Size("num_kv_heads");
  const int64_t dim = b.Size("head_dim");
  const auto norm = [&](int64_t first, int64_t count, const char* weight) {
    return b.Call("rms_norm",
                  {Heads(qkv, first, count, dim), b.Tensor(weight), b.Attribute("eps")})[0];
  };
  const tenon::Tensor q = norm(0, heads, "q_weight");
  const tenon::Tensor k = norm(heads, kv_heads, "k_weight");
  b.Call("rotary_embedding",
         {b.Tensor("positions"), q, k, dim, b.Tensor("cos_sin_cache"), b.Attribute("is_neox")});
  b.Copy(Heads(qkv, heads + kv_heads, kv_heads, dim));
}

const std::map<std::string_view, void (*)(Builder&)> kChains = {
    {"fused_add_rms_norm", &AddNorm},
    {"fused_add_rms_norm_dynamic_per_token_quant", &NormQuant<true, QuantisePerToken>},
    {"fused_add_rms_norm_per_block_quant", &NormQuant<true, QuantisePerGroup>},
    {"fused_add_rms_norm_static_quant", &NormQuant<true, Quantise>},
    {"rms_norm_dynamic_per_token_quant", &NormQuant<false, QuantisePerToken>},
    {"rms_norm_per_block_quant", &NormQuant<false, QuantisePerGroup>},
    {"rms_norm_static_quant", &NormQuant<false, Quantise>},
    {"silu_and_mul_per_block_quant", &SiluQuant<QuantisePerGroup>},
    {"silu_and_mul_quant", &SiluQuant<Quantise>},
    {"swiglu_quant", &SiluQuant<QuantisePerToken>},
    {"rms_norm_rope", &NormRope},
    {"split_qkv_rmsnorm_rope", &SplitNormRope},
};

}  // namespace

std::optional<Chain> UnfusedChain(const Case& fused) {
  const auto it = kChains.find(fused.spec().op);
  if (it == kChains.end() || fused.spec().lead.size() != 1) return std::nullopt;
  Builder builder(fused);
  it->second(builder);
  Chain chain;
  chain.steps_ = std::move(builder.steps);
  chain.buffers_ = std::move(builder.buffers);
  return chain;
}

}  // namespace tenon::ops
