#include <algorithm>
#include <cmath>
#include <vector>

#include "base/dtype.h"
#include "ops/registry.h"
#include "ops/resolve.h"
#include "ops/strided.h"

namespace tenon::ops::attention {
namespace {

using Values = std::vector<double>;  // row-major

Values Load(const Tensor& tensor) {
  Values values;
  ForEachElement(tensor, [&](int64_t offset) {
    values.push_back(LoadElement(tensor.data, tensor.dtype, offset));
  });
  return values;
}

// The layer in float64; what its operators store is rounded to T.
class Reference {
 public:
  explicit Reference(const Resolved& call)
      : call_(call),
        batch_(call.sizes.at("batch")),
        length_(call.sizes.at("length")),
        hidden_(call.sizes.at("hidden")),
        heads_(IntOf(call, "num_heads")),
        kv_heads_(IntOf(call, "num_kv_heads")),
        head_size_(call.sizes.at("head_size")) {}

  Values Run() const {
    const Values x = In("hidden_states");
    Values qkv = Multiply(Norm(x, "input_norm_weight"), "qkv_weight", hidden_);
    if (call_.FindInput("qkv_bias")->present) {
      const Values bias = In("qkv_bias");
      for (size_t i = 0; i < qkv.size(); ++i) qkv[i] += bias[i % bias.size()];
    }
    Round(qkv);
    Rotate(qkv);
    Values attended = Attend(qkv);
    Round(attended);
    Values h = Multiply(attended, "o_weight", heads_ * head_size_);
    for (size_t i = 0; i < h.size(); ++i) h[i] += x[i];
    Round(h);
    const Values gate_up = Multiply(Norm(h, "post_norm_weight"), "gate_up_weight", hidden_);
    const int64_t inner = call_.sizes.at("d");
    Values gated;
    for (int64_t i = 0; i < Rows() * inner; ++i) {
      const int64_t at = i / inner * 2 * inner + i % inner;
      const double gate = At(gate_up, at);
      gated.push_back(gate / (1 + std::exp(-gate)) * At(gate_up, at + inner));
    }
    Round(gated);
    Values y = Multiply(gated, "down_weight", inner);
    for (size_t i = 0; i < y.size(); ++i) y[i] += h[i];
    return y;
  }

 private:
  static double At(const Values& values, int64_t i) { return values[static_cast<size_t>(i)]; }
  Values In(const char* name) const { return Load(call_.FindInput(name)->tensor); }
  int64_t Rows() const { return batch_ * length_; }
  int64_t Width() const { return (heads_ + 2 * kv_heads_) * head_size_; }
  void Round(Values& values) const {
    for (double& value : values) value = RoundTo(value, call_.storage);
  }

  Values Norm(const Values& x, const char* weight_name) const {
    const Values weight = In(weight_name);
    Values y;
    for (int64_t row = 0; row < Rows(); ++row) {
      double squares = 0;
      for (int64_t i = 0; i < hidden_; ++i) squares += std::pow(At(x, row * hidden_ + i), 2);
      const double mean = squares / static_cast<double>(hidden_);
      const double scale = 1 / std::sqrt(mean + NumberOf(call_, "eps"));
      for (int64_t i = 0; i < hidden_; ++i) {
        y.push_back(At(x, row * hidden_ + i) * scale * At(weight, i));
      }
    }
    Round(y);
    return y;
  }

  // x [rows, k] weight^T.
  Values Multiply(const Values& x, const char* weight_name, int64_t k) const {
    const Values weight = In(weight_name);
    const int64_t n = static_cast<int64_t>(weight.size()) / k;
    Values y;
    for (int64_t i = 0; i < Rows() * n; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < k; ++j) sum += At(x, i / n * k + j) * At(weight, i % n * k + j);
      y.push_back(sum);
    }
    return y;
  }

  // The heads of q and k; those of v stay.
  void Rotate(Values& qkv) const {
    const Values cos = In("cos");
    const Values sin = In("sin");
    const int64_t half = head_size_ / 2;
    for (int64_t i = 0; i < Rows() * (heads_ + kv_heads_) * half; ++i) {
      const int64_t row = i / half / (heads_ + kv_heads_);
      const int64_t head = i / half % (heads_ + kv_heads_);
      const auto first = static_cast<size_t>(row * Width() + head * head_size_ + i % half);
      const auto second = first + static_cast<size_t>(half);
      const auto angle = static_cast<size_t>(row * half + i % half) % cos.size();
      const double a = qkv[first];
      const double b = qkv[second];
      qkv[first] = RoundTo(a * cos[angle] - b * sin[angle], call_.storage);
      qkv[second] = RoundTo(b * cos[angle] + a * sin[angle], call_.storage);
    }
  }

  double Mask(int64_t batch, int64_t head, int64_t query, int64_t key) const {
    const BoundInput& mask = *call_.FindInput("attn_mask");
    if (!mask.present) return 0;
    const Tensor& t = mask.tensor;
    const int64_t at = batch % t.sizes[0] * t.strides[0] + head % t.sizes[1] * t.strides[1] +
                       query * t.strides[2] + key * t.strides[3];
    return LoadElement(t.data, t.dtype, at);
  }

  Values Attend(const Values& qkv) const {
    Values y(static_cast<size_t>(Rows() * heads_ * head_size_), 0.0);
    for (int64_t i = 0; i < Rows() * heads_; ++i) {
      const int64_t row = i / heads_;
      const int64_t head = i % heads_;
      const int64_t first = row / length_ * length_;  // row of the batch
      const int64_t kv_head = head / (heads_ / kv_heads_);
      const int64_t k_column = (heads_ + kv_head) * head_size_;
      const int64_t v_column = k_column + kv_heads_ * head_size_;
      Values scores;
      for (int64_t key = 0; key < length_; ++key) {
        double score = 0;
        for (int64_t j = 0; j < head_size_; ++j) {
          score += At(qkv, row * Width() + head * head_size_ + j) *
                   At(qkv, (first + key) * Width() + k_column + j);
        }
        score /= std::sqrt(static_cast<double>(head_size_));
        scores.push_back(score + Mask(row / length_, head, row % length_, key));
      }
      const double most = *std::max_element(scores.begin(), scores.end());
      double sum = 0;
      for (double& score : scores) sum += score = std::exp(score - most);
      for (int64_t j = 0; j < head_size_; ++j) {
        double value = 0;
        for (int64_t key = 0; key < length_; ++key) {
          value += At(scores, key) * At(qkv, (first + key) * Width() + v_column + j);
        }
        y[static_cast<size_t>(i * head_size_ + j)] = value / sum;
      }
    }
    return y;
  }

  const Resolved& call_;
  int64_t batch_, length_, hidden_, heads_, kv_heads_, head_size_;
};

void Compute(const Resolved& call, std::span<const Tensor> outputs) {
  const Values values = Reference(call).Run();
  const Tensor& y = outputs[0];
  auto next = values.begin();
  ForEachElement(y, [&](int64_t offset) { StoreElement(y.data, y.dtype, offset, *next++); });
}

}  // namespace

Contract qwen2_decoder_layer() {
  Contract c("attention", "qwen2_decoder_layer");
  c.Doc(
      "h = x + o(attention(rope(qkv(rms_norm(x))))); y = h + gated_mlp(rms_norm(h)); without a "
      "cache, attn_mask is added to the scores");
  c.In("hidden_states", ir::Elem::Storage(), "batch, length, hidden").MayBeEmpty();
  for (const char* angles : {"cos", "sin"}) {
    c.In(angles, ir::Elem::Param(), "batch, length, head_size//2 | length, head_size//2")
        .MayBeEmpty()
        .WithoutView();
  }
  c.OptionalIn("attn_mask", ir::Elem::Param(),
               "batch, num_heads, length, length | batch, 1, length, length | "
               "1, num_heads, length, length | 1, 1, length, length",
               0.0)
      .MayBeEmpty()
      .WithoutView();
  const std::string rows = "num_heads*head_size + 2*num_kv_heads*head_size";
  c.In("input_norm_weight", ir::Elem::Param(), "hidden");
  c.In("qkv_weight", ir::Elem::Storage(), rows + ", hidden");
  c.OptionalIn("qkv_bias", ir::Elem::Param(), rows, -0.0);
  c.In("o_weight", ir::Elem::Storage(), "hidden, num_heads*head_size");
  c.In("post_norm_weight", ir::Elem::Param(), "hidden");
  c.In("gate_up_weight", ir::Elem::Storage(), "2*d, hidden");
  c.In("down_weight", ir::Elem::Storage(), "hidden, d");
  c.Int("num_heads").Positive();
  c.Int("num_kv_heads").Positive();
  c.Float("eps", 1e-6).NonNegative();
  c.Require("num_kv_heads", Compare::kDivides, "num_heads", "num_kv_heads must divide num_heads");
  c.Require("2", Compare::kDivides, "head_size", "qkv_weight must have heads of an even size");
  c.Out("y", ir::Elem::Storage(), "batch, length, hidden").Within(1e-4, 3e-2);
  c.Function(Compute);
  return c;
}

}  // namespace tenon::ops::attention
