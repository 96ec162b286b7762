// Computes  v_q, v_k = means of squares of the ranks' q and k rows, averaged over the ranks
//           q, k = rotary_embedding(round(x / sqrt(v + eps) * w)), v copied
// Traffic   qkv is read twice; [tokens, 2] float32 goes over the group
// Mapping   tokens over threads
// Numerics  float32; n is rounded before the rotation, as the unfused chain rounds it
// Limits    none
#include <algorithm>
#include <array>
#include <cmath>

#include "backend/cpu/parallel.h"
#include "base/dtype.h"
#include "ops/composition.h"
#include "ops/dense.h"
#include "ops/strided.h"
#include "ops/structural.h"

namespace tenon::ops::rope {
namespace {

// Independent sums, so that the adds do not wait for each other.
float MeanOfSquares(const float* x, int64_t count) {
  constexpr int64_t kSums = 16;
  std::array<float, kSums> sums{};
  for (int64_t i = 0; i < count; ++i) sums[i % kSums] += x[i] * x[i];
  float sum = 0;
  for (float s : sums) sum += s;
  return sum / static_cast<float>(count);
}

struct Rows {
  Tensor qkv;       // [tokens, width] float32
  Tensor variance;  // [tokens, 2] float32
};

// y[t] = round(x[t] / sqrt(variance[t] + eps) * weight) for one part of the rows.
void Normalise(const Rows& rows, int part, int64_t begin, const Tensor& weight, float eps,
               const Tensor& y) {
  const int64_t width = weight.sizes[0];
  const int64_t stride = rows.qkv.sizes[1];
  cpu::ParallelFor(rows.qkv.sizes[0], 1, [&](int64_t first, int64_t last) {
    for (int64_t t = first; t < last; ++t) {
      const float* x = rows.qkv.ptr<float>() + t * stride + begin;
      const float scale = 1.0F / std::sqrt(rows.variance.ptr<float>()[2 * t + part] + eps);
      for (int64_t i = 0; i < width; ++i) {
        StoreElement(y.data, y.dtype, t * width + i, x[i] * scale * weight.ptr<float>()[i]);
      }
    }
  });
}

Buffer AsFloat(const Tensor& tensor, std::vector<int64_t> shape) {
  Buffer buffer = Fresh(DType::kF32, std::move(shape));
  WidenStrided(tensor, buffer.tensor());
  return buffer;
}

}  // namespace

void RunSplitQkvTpRmsNormRope(const Resolved& call, std::span<const Tensor> outputs) {
  const int64_t tokens = call.sizes.at("tokens");
  const int64_t head_dim = IntOf(call, "head_dim");
  const int64_t widths[] = {IntOf(call, "num_heads") * head_dim,
                            IntOf(call, "num_kv_heads") * head_dim};
  const int64_t begins[] = {0, widths[0], widths[0] + widths[1]};
  const Tensor& given = call.FindInput("qkv")->tensor;
  const Buffer qkv = AsFloat(given, {tokens, begins[2] + widths[1]});
  const Buffer means = Fresh(DType::kF32, {tokens, 2});
  for (int64_t t = 0; t < tokens; ++t) {
    const float* row = qkv.tensor().ptr<float>() + t * qkv.tensor().sizes[1];
    for (int part : {0, 1}) {
      means.tensor().ptr<float>()[2 * t + part] = MeanOfSquares(row + begins[part], widths[part]);
    }
  }
  const Buffer variance = Fresh(DType::kF32, {tokens, 2});
  InGroup(call, [&](Communicator& group) {
    AllReduce(group, means.tensor(), variance.tensor());
    for (int64_t i = 0; i < 2 * tokens; ++i) {
      variance.tensor().ptr<float>()[i] /= static_cast<float>(group.size());
    }
  });
  const auto eps = static_cast<float>(NumberOf(call, "eps"));
  std::vector<Buffer> normal;
  for (int part : {0, 1}) {
    const Buffer weight =
        AsFloat(call.FindInput(part == 0 ? "q_weight" : "k_weight")->tensor, {widths[part]});
    const auto shape = outputs[part].shape();
    normal.push_back(Fresh(call.storage, {shape.begin(), shape.end()}));
    Normalise({qkv.tensor(), variance.tensor()}, part, begins[part], weight.tensor(), eps,
              normal.back().tensor());
  }
  const Argument arguments[] = {Given(call, "positions"),     normal[0].tensor(),
                                normal[1].tensor(),           head_dim,
                                Given(call, "cos_sin_cache"), FlagOf(call, "is_neox")};
  InvokeFor(call, "rotary_embedding", arguments, outputs.first(2));
  CopyStrided(Part(given, -1, begins[2], widths[1]), outputs[2]);
}

}  // namespace tenon::ops::rope
