#include "ops/norm/norm.h"

namespace tenon::ops::norm {

ir::Value RmsNorm(ir::Value x, ir::Value v, std::string_view axis, ir::Value eps, Affine affine) {
  const ir::Value rstd = Rsqrt(Mean(v * v, axis) + eps);
  return Round(x * rstd * affine.weight + affine.bias, ir::Elem::Storage());
}

ir::Value RmsNorm(ir::Value x, ir::Value eps, Affine affine) {
  return RmsNorm(x, x, x.type().axes.back().name, eps, affine);
}

Affine OffsetAffine(const Body& b, std::string_view weight, std::string_view bias) {
  return {b.In(weight) + b.Attr("weight_offset"), b.In(bias)};
}

}  // namespace tenon::ops::norm
