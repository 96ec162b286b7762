// Computes  a decoder layer without a cache: norms, products and rotation are other operators
// Traffic   that of its operators; scores and probabilities in float32, once each, in blocks
// Mapping   that of its operators; the heads that share a key head are one batch of products
// Numerics  scores, softmax and values in float32; T between operators
// Limits    none
#include <algorithm>
#include <cmath>
#include <optional>

#include "backend/cpu/gemm.h"
#include "backend/cpu/parallel.h"
#include "base/dtype.h"
#include "ops/composition.h"
#include "ops/dense.h"
#include "ops/structural.h"

namespace tenon::ops::attention {
namespace {

constexpr int64_t kScores = int64_t{1} << 19;  // of one block: 2 MiB, and as much for the softmax

// Rows of q, k and v side by side: [batch, length, (heads + 2*kv_heads)*head_size].
struct Heads {
  explicit Heads(const Resolved& call)
      : batch(call.sizes.at("batch")),
        length(call.sizes.at("length")),
        heads(IntOf(call, "num_heads")),
        kv_heads(IntOf(call, "num_kv_heads")),
        size(call.sizes.at("head_size")) {}
  int64_t batch, length, heads, kv_heads, size;
  int64_t width() const { return (heads + 2 * kv_heads) * size; }
  int64_t group() const { return heads / kv_heads; }
};

// Those of q and k, in place.
void Rotate(const Resolved& call, const Heads& of, const Tensor& qkv) {
  const int64_t shape[] = {of.batch, of.length, of.heads + of.kv_heads, of.size};
  Tensor turned = MakeTensor(qkv.data, qkv.dtype, shape);
  turned.strides[0] = of.length * of.width();
  turned.strides[1] = of.width();
  const Argument arguments[] = {turned, Given(call, "cos"), Given(call, "sin")};
  Invoke("apply_rotary_emb_", arguments, {});
}

void ScaleQueries(const Heads& of, const Tensor& qkv) {
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(of.size)));
  cpu::ParallelFor(of.batch * of.length, 16, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      float* const q = qkv.ptr<float>() + row * of.width();
      for (int64_t i = 0; i < of.heads * of.size; ++i) q[i] *= scale;
    }
  });
}

// One rounding of dense float32.
void Narrow(const Tensor& from, const Tensor& to) {
  const float* const x = from.ptr<float>();
  cpu::ParallelFor(to.numel(), int64_t{1} << 13, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (to.dtype == DType::kBF16) {
        to.ptr<BF16>()[i] = ToBF16(x[i]);
      } else {
        to.ptr<F16>()[i] = ToF16(x[i]);
      }
    }
  });
}

// All in float32: `qkv` with q scaled, `mask` [batch | 1, heads | 1, length, length] or without
// data, `y` [batch, length, heads*size].
class Attention {
 public:
  Attention(const Heads& of, const Tensor& qkv, const Tensor& mask, const Tensor& y)
      : of_(of), qkv_(qkv), mask_(mask), y_(y) {
    rows_ = std::clamp<int64_t>(kScores / (of.group() * of.length), 1, of.length);
    scores_.emplace(Fresh(DType::kF32, {of.group(), rows_, of.length}));
    probabilities_.emplace(Fresh(DType::kF32, {of.group(), rows_, of.length}));
  }

  void Run() const {
    for (int64_t batch = 0; batch < of_.batch; ++batch) {
      for (int64_t kv_head = 0; kv_head < of_.kv_heads; ++kv_head) {
        for (int64_t row = 0; row < of_.length; row += rows_) {
          RunBlock(batch, kv_head, row, std::min(rows_, of_.length - row));
        }
      }
    }
  }

 private:
  const float* At(int64_t batch, int64_t row, int64_t head) const {
    return qkv_.ptr<float>() + (batch * of_.length + row) * of_.width() + head * of_.size;
  }

  // Without data, no mask.
  cpu::MatrixView MaskAt(int64_t batch, int64_t head, int64_t row) const {
    if (mask_.data == nullptr) return {};
    const int64_t batch_stride = mask_.sizes[0] == 1 ? 0 : mask_.strides[0];
    const int64_t head_stride = mask_.sizes[1] == 1 ? 0 : mask_.strides[1];
    return {mask_.ptr<float>() + batch * batch_stride + head * head_stride + row * mask_.strides[2],
            mask_.strides[2], mask_.strides[3], head_stride};
  }

  // Rows [row, row + rows) of the queries that share a key head.
  void RunBlock(int64_t batch, int64_t kv_head, int64_t row, int64_t rows) const {
    const int64_t head = kv_head * of_.group();
    const int64_t shape[] = {of_.group(), rows, of_.length};
    const Tensor scores = MakeTensor(scores_->tensor().data, DType::kF32, shape);
    const Tensor probabilities = MakeTensor(probabilities_->tensor().data, DType::kF32, shape);
    cpu::Gemm product;
    product.batch = of_.group();
    product.m = rows;
    product.n = of_.length;
    product.k = of_.size;
    product.a = {At(batch, row, head), of_.width(), 1, of_.size};
    product.b = {At(batch, 0, of_.heads + kv_head), of_.width(), 1, 0};
    product.c = {scores.data, of_.length, 1, rows * of_.length};
    product.residual = MaskAt(batch, head, row);
    cpu::RunGemm(product);
    const Argument arguments[] = {scores};
    Invoke("softmax_batch_invariant", arguments, {&probabilities, 1});
    const int64_t width = of_.heads * of_.size;
    product = {};
    product.batch = of_.group();
    product.m = rows;
    product.n = of_.size;
    product.k = of_.length;
    product.a = {probabilities.data, of_.length, 1, rows * of_.length};
    product.b = {At(batch, 0, of_.heads + of_.kv_heads + kv_head), 1, of_.width(), 0};
    product.c = {y_.ptr<float>() + (batch * of_.length + row) * width + head * of_.size, width, 1,
                 of_.size};
    cpu::RunGemm(product);
  }

  const Heads& of_;
  Tensor qkv_;
  Tensor mask_;
  Tensor y_;
  int64_t rows_ = 0;  // of a block
  std::optional<Buffer> scores_;
  std::optional<Buffer> probabilities_;
};

// [batch, length, heads*size] in T.
Buffer Attend(const Resolved& call, const Heads& of, const Buffer& qkv) {
  const DType storage = qkv.tensor().dtype;
  const bool is_wide = storage == DType::kF32;
  const Buffer wide = is_wide ? qkv : DenseCopy(qkv.tensor(), DType::kF32);
  ScaleQueries(of, wide.tensor());
  const BoundInput& given = *call.FindInput("attn_mask");
  std::optional<Buffer> wide_mask;
  Tensor mask;
  if (given.present) mask = given.tensor;
  if (given.present && mask.dtype != DType::kF32) {
    mask = wide_mask.emplace(DenseCopy(mask, DType::kF32)).tensor();
  }
  const std::vector<int64_t> shape = {of.batch, of.length, of.heads * of.size};
  Buffer y = Fresh(DType::kF32, shape);
  Attention(of, wide.tensor(), mask, y.tensor()).Run();
  if (is_wide) return y;
  Buffer narrow = Fresh(storage, shape);
  Narrow(y.tensor(), narrow.tensor());
  return narrow;
}

Buffer Only(std::string_view op, std::span<const Argument> arguments) {
  return Invoke(op, arguments)[0];
}

}  // namespace

void RunQwen2DecoderLayer(const Resolved& call, std::span<const Tensor> outputs) {
  if (outputs[0].numel() == 0) return;
  const Heads heads(call);
  const Argument x = Given(call, "hidden_states");
  const Argument eps = NumberOf(call, "eps");
  const Argument norm[] = {x, Given(call, "input_norm_weight"), eps};
  const Buffer normalised = Only("rms_norm", norm);
  const Argument project[] = {normalised.tensor(), Given(call, "qkv_weight"),
                              Given(call, "qkv_bias")};
  const Buffer qkv = Only("linear", project);
  Rotate(call, heads, qkv.tensor());
  const Buffer attended = Attend(call, heads, qkv);
  const Argument out[] = {attended.tensor(), Given(call, "o_weight"), x};
  const Buffer h = Only("linear_add", out);
  const Argument mlp[] = {h.tensor(),
                          Given(call, "post_norm_weight"),
                          {},
                          Given(call, "gate_up_weight"),
                          Given(call, "down_weight"),
                          std::string("rms_norm"),
                          std::string("silu"),
                          eps,
                          true};
  Invoke("norm_gated_mlp", mlp, outputs);
}

}  // namespace tenon::ops::attention
