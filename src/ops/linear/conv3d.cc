#include "ops/linear/conv3d.h"

#include "base/dtype.h"
#include "ops/registry.h"
#include "ops/strided.h"

namespace tenon::ops::linear {

Conv3d::Conv3d(const Resolved& call)
    : batches(call.sizes.at("tokens")),
      groups(IntOf(call, "groups")),
      in_channels(call.sizes.at("group_channels")),
      out_channels(call.sizes.at("out_channels") / groups) {
  static constexpr const char* kKernel[] = {"kernel_depth", "kernel_height", "kernel_width"};
  static constexpr const char* kSize[] = {"depth", "height", "width"};
  for (int axis = 0; axis < 3; ++axis) {
    const std::string number = "_" + std::to_string(axis);
    kernel[axis] = call.sizes.at(kKernel[axis]);
    stride[axis] = IntOf(call, "stride" + number);
    padding[axis] = IntOf(call, "padding" + number);
    dilation[axis] = IntOf(call, "dilation" + number);
    size[axis] = call.sizes.at(kSize[axis]);
    const int64_t reach = dilation[axis] * (kernel[axis] - 1);
    out[axis] = (size[axis] + 2 * padding[axis] - reach - 1) / stride[axis] + 1;
  }
}

namespace {

double Load(const Tensor& t, std::initializer_list<int64_t> index) {
  int64_t offset = 0;
  int axis = 0;
  for (const int64_t i : index) offset += i * t.strides[axis++];
  return LoadElement(t.data, t.dtype, offset);
}

// The sum for one element of y.
double Sum(const Conv3d& conv, const Tensor& x, const Tensor& weight, int64_t channel,
           const int64_t (&at)[3]) {
  double sum = 0;
  const int64_t group = channel / conv.out_channels;
  for (int64_t c = 0; c < conv.in_channels; ++c) {
    for (int64_t t = 0; t < conv.kernel[0]; ++t) {
      const int64_t z = conv.At(0, at[0], t);
      for (int64_t h = 0; h < conv.kernel[1]; ++h) {
        const int64_t y = conv.At(1, at[1], h);
        for (int64_t w = 0; w < conv.kernel[2]; ++w) {
          const int64_t v = conv.At(2, at[2], w);
          const bool inside = z >= 0 && z < conv.size[0] && y >= 0 && y < conv.size[1] && v >= 0 &&
                              v < conv.size[2];
          if (!inside) continue;
          sum += Load(x, {group * conv.in_channels + c, z, y, v}) *
                 Load(weight, {channel, c, t, h, w});
        }
      }
    }
  }
  return sum;
}

void Compute(const Resolved& call, std::span<const Tensor> outputs) {
  const Conv3d conv(call);
  const Tensor& weight = call.inputs[1].view;
  const BoundInput& bias = call.inputs[2];
  for (int64_t batch = 0; batch < conv.batches; ++batch) {
    const Tensor x = LastAxes(call.inputs[0].tensor, 4, batch);
    const Tensor y = LastAxes(outputs[0], 4, batch);
    for (int64_t channel = 0; channel < y.sizes[0]; ++channel) {
      for (int64_t position = 0; position < conv.positions(); ++position) {
        const int64_t at[3] = {position / (conv.out[1] * conv.out[2]),
                               position / conv.out[2] % conv.out[1], position % conv.out[2]};
        double sum = Sum(conv, x, weight, channel, at);
        if (bias.present) {
          sum += LoadElement(bias.view.data, bias.view.dtype, channel * bias.view.strides[0]);
        }
        const int64_t offset = channel * y.strides[0] + at[0] * y.strides[1] +
                               at[1] * y.strides[2] + at[2] * y.strides[3];
        StoreElement(y.data, y.dtype, offset, sum);
      }
    }
  }
}

}  // namespace

Contract conv3d() {
  Contract c("linear", "conv3d");
  c.Doc("y = convolution of x with weight over the last three axes, plus bias");
  c.In("x", ir::Elem::Storage(), "..., channels, depth, height, width").MayBeEmpty();
  c.In("weight", ir::Elem::Storage(),
       "out_channels, group_channels, kernel_depth, kernel_height, kernel_width");
  c.OptionalIn("bias", ir::Elem::Param(), "out_channels", -0.0).NoneByDefault();
  c.IntList("stride", 3).Repeated(1).Positive();
  c.IntList("padding", 3).Repeated(0).NonNegative();
  c.IntList("dilation", 3).Repeated(1).Positive();
  c.Int("groups", 1).Positive();
  c.Require("channels", Compare::kEq, "groups*group_channels",
            "x must have groups times as many channels as weight");
  c.Require("groups", Compare::kDivides, "out_channels", "groups must divide weight's first axis");
  static constexpr const char* kAxes[][2] = {
      {"depth", "kernel_depth"}, {"height", "kernel_height"}, {"width", "kernel_width"}};
  std::string shape = "..., out_channels";
  for (int axis = 0; axis < 3; ++axis) {
    const std::string number = "_" + std::to_string(axis);
    const std::string reach = "dilation" + number + "*(" + kAxes[axis][1] + " - 1)";
    const std::string padded = std::string(kAxes[axis][0]) + " + 2*padding" + number;
    c.Require(
        reach + " + 1", Compare::kLe, padded,
        std::string("the kernel must not reach beyond the padded ") + kAxes[axis][0] + " of x");
    shape += ", (" + padded + " - " + reach + " - 1)//stride" + number + " + 1";
  }
  c.Out("y", ir::Elem::Storage(), shape);
  c.Function(Compute);
  return c;
}

}  // namespace tenon::ops::linear
