// Computes  y = convolution of x with weight + bias, as products of gathered patches
// Traffic   each patch is written and read once more; where a kernel covers all of x, x is the
//           matrix of patches as it is
// Mapping   rows of patches over threads, then backend/cpu/gemm.h
// Numerics  float32 sums, one rounding
// Limits    none
#include "ops/linear/conv3d.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "backend/cpu/gemm.h"
#include "backend/cpu/parallel.h"
#include "base/dtype.h"
#include "ops/composition.h"
#include "ops/dense.h"
#include "ops/strided.h"
#include "ops/structural.h"

namespace tenon::ops::linear {
namespace {

// Elements of a block of patches: it stays in the second-level cache of a few cores.
constexpr int64_t kBlockElements = int64_t{1} << 20;

// One row of the kernel, `count` elements from `from` on; outside of x there are zeros.
template <typename Bits>
Bits* CopyRun(const Conv3d& conv, const Bits* row, int64_t step, int64_t column, bool inside,
              Bits* to) {
  const int64_t count = conv.kernel[2];
  const int64_t first = conv.At(2, column, 0);
  const bool whole = first >= 0 && conv.At(2, column, count - 1) < conv.size[2];
  if (inside && whole && step == 1 && conv.dilation[2] == 1) {
    std::memcpy(to, row + first, static_cast<size_t>(count) * sizeof(Bits));
    return to + count;
  }
  for (int64_t w = 0; w < count; ++w) {
    const int64_t at = first + w * conv.dilation[2];
    *to++ = inside && at >= 0 && at < conv.size[2] ? row[at * step] : Bits{0};
  }
  return to;
}

// The patch of one position: [channels of the group, kernel].
template <typename Bits>
void CopyPatch(const Conv3d& conv, const Tensor& x, int64_t group, int64_t position, Bits* to) {
  const int64_t at[3] = {position / (conv.out[1] * conv.out[2]),
                         position / conv.out[2] % conv.out[1], position % conv.out[2]};
  for (int64_t c = 0; c < conv.in_channels; ++c) {
    const Bits* const channel = x.ptr<Bits>() + (group * conv.in_channels + c) * x.strides[0];
    for (int64_t t = 0; t < conv.kernel[0]; ++t) {
      const int64_t z = conv.At(0, at[0], t);
      for (int64_t h = 0; h < conv.kernel[1]; ++h) {
        const int64_t y = conv.At(1, at[1], h);
        const bool inside = z >= 0 && z < conv.size[0] && y >= 0 && y < conv.size[1];
        const Bits* const row = inside ? channel + z * x.strides[1] + y * x.strides[2] : channel;
        to = CopyRun(conv, row, x.strides[3], at[2], inside, to);
      }
    }
  }
}

class Convolution {
 public:
  Convolution(const Resolved& call, const Tensor& y)
      : conv_(call), x_(call.inputs[0].tensor), y_(y), weight_(call.inputs[1].tensor) {
    if (!IsContiguous(weight_))
      weight_ = dense_weight_.emplace(DenseCopy(weight_, y.dtype)).tensor();
    gemm_.dtype = y.dtype;
    gemm_.n = conv_.out_channels;
    gemm_.k = conv_.depth();
    const BoundInput& bias = call.inputs[2];
    if (!bias.present) return;
    bias_ = bias.tensor;
    gemm_.bias_dtype = bias_.dtype;
    gemm_.bias_step = bias_.strides[0];
  }

  void Run() {
    const int64_t rows = conv_.batches * conv_.positions();
    if (const std::optional<Tensor> patches = WholePatches()) {
      Multiply({patches->data, patches->strides[0], patches->strides[1], 0}, 0, rows, 0);
      return;
    }
    const int64_t block =
        std::clamp<int64_t>(kBlockElements / std::max<int64_t>(gemm_.k, 1), 1, rows);
    const Buffer patches = Fresh(y_.dtype, {block, gemm_.k});
    for (int64_t group = 0; group < conv_.groups; ++group) {
      for (int64_t row = 0; row < rows; row += block) {
        const int64_t count = std::min(block, rows - row);
        Gather(patches.tensor(), group, row, count);
        Multiply({patches.tensor().data, gemm_.k, 1, 0}, row, count, group);
      }
    }
  }

 private:
  // x itself, when there is one position and the kernel covers all of x.
  std::optional<Tensor> WholePatches() const {
    bool whole = conv_.groups == 1 && IsContiguous(x_);
    for (int axis = 0; axis < 3; ++axis) {
      whole &= conv_.kernel[axis] == conv_.size[axis] && conv_.padding[axis] == 0;
    }
    if (!whole) return std::nullopt;
    const int64_t shape[] = {conv_.batches, gemm_.k};
    return MakeTensor(x_.data, x_.dtype, shape);
  }

  void Gather(const Tensor& patches, int64_t group, int64_t first, int64_t count) const {
    const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 14) / std::max<int64_t>(gemm_.k, 1));
    cpu::ParallelFor(count, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Tensor x = LastAxes(x_, 4, (first + i) / conv_.positions());
        const int64_t position = (first + i) % conv_.positions();
        if (ItemSize(x.dtype) == 2) {
          CopyPatch(conv_, x, group, position, patches.ptr<uint16_t>() + i * gemm_.k);
        } else {
          CopyPatch(conv_, x, group, position, patches.ptr<uint32_t>() + i * gemm_.k);
        }
      }
    });
  }

  // y[rows] = patches weight^T of the group. Rows of one batch are neighbours in y; with one
  // position a batch they are apart by the channels.
  void Multiply(const cpu::MatrixView& patches, int64_t first, int64_t count, int64_t group) {
    const int64_t item = ItemSize(y_.dtype);
    const int64_t channel = group * conv_.out_channels;
    gemm_.b = {weight_.ptr<char>() + channel * gemm_.k * item, gemm_.k, 1, 0};
    gemm_.bias = bias_.data == nullptr
                     ? nullptr
                     : bias_.ptr<char>() + channel * bias_.strides[0] * ItemSize(bias_.dtype);
    const int64_t positions = conv_.positions();
    const bool dense = IsContiguous(y_);
    for (int64_t row = first; row < first + count;) {
      const int64_t within = row % positions;
      // As many rows as one product can write: those of a batch, or all when each batch has one.
      const bool apart = positions == 1 && dense;
      const int64_t rows = apart ? count : std::min(positions - within, first + count - row);
      const Tensor y = LastAxes(y_, 4, row / positions);
      gemm_.m = rows;
      gemm_.a = patches;
      gemm_.a.data = static_cast<const char*>(patches.data) + (row - first) * patches.row * item;
      if (IsContiguous(y)) {
        gemm_.c = {y.ptr<char>() + (channel * y.strides[0] + within) * item, apart ? y.sizes[0] : 1,
                   y.strides[0], 0};
        cpu::RunGemm(gemm_);
      } else {
        Scatter(y, channel, within, rows);
      }
      row += rows;
    }
  }

  // A result whose positions do not lie one after another.
  void Scatter(const Tensor& y, int64_t channel, int64_t within, int64_t rows) {
    const Buffer dense = Fresh(y.dtype, {gemm_.n, rows});
    gemm_.c = {dense.tensor().data, 1, rows, 0};
    cpu::RunGemm(gemm_);
    const int64_t item = ItemSize(y.dtype);
    for (int64_t n = 0; n < gemm_.n; ++n) {
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t position = within + i;
        const int64_t at = (channel + n) * y.strides[0] +
                           position / (conv_.out[1] * conv_.out[2]) * y.strides[1] +
                           position / conv_.out[2] % conv_.out[1] * y.strides[2] +
                           position % conv_.out[2] * y.strides[3];
        std::memcpy(y.ptr<char>() + at * item, dense.tensor().ptr<char>() + (n * rows + i) * item,
                    static_cast<size_t>(item));
      }
    }
  }

  Conv3d conv_;
  Tensor x_;
  Tensor y_;
  Tensor weight_;
  Tensor bias_;
  std::optional<Buffer> dense_weight_;
  cpu::Gemm gemm_;
};

}  // namespace

void RunConv3d(const Resolved& call, std::span<const Tensor> outputs) {
  if (outputs[0].numel() > 0) Convolution(call, outputs[0]).Run();
}

}  // namespace tenon::ops::linear
