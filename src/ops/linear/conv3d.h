// The geometry of a convolution over three axes.
#pragma once

#include "ops/resolve.h"

namespace tenon::ops::linear {

struct Conv3d {
  explicit Conv3d(const Resolved& call);

  int64_t batches;
  int64_t groups;
  int64_t in_channels;   // of a group
  int64_t out_channels;  // of a group
  int64_t kernel[3];
  int64_t stride[3];
  int64_t padding[3];
  int64_t dilation[3];
  int64_t size[3];  // of x
  int64_t out[3];   // of y
  int64_t positions() const { return out[0] * out[1] * out[2]; }
  int64_t depth() const { return in_channels * kernel[0] * kernel[1] * kernel[2]; }
  // Where a tap of the kernel lies in x along an axis; outside of [0, size) there is a zero.
  int64_t At(int axis, int64_t position, int64_t tap) const {
    return position * stride[axis] - padding[axis] + tap * dilation[axis];
  }
};

}  // namespace tenon::ops::linear
