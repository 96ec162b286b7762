#include "ops/norm/norm.h"

namespace tenon::ops::norm {

Affine OffsetAffine(const Body& b, std::string_view weight, std::string_view bias) {
  Affine affine;
  affine.weight = b.In(weight) + b.Attr("weight_offset");
  if (!bias.empty()) affine.bias = b.In(bias);
  return affine;
}

ir::Value Apply(ir::Value value, Affine affine) {
  if (affine.weight.builder() != nullptr) value = value * affine.weight;
  if (affine.bias.builder() != nullptr) value = value + affine.bias;
  return value;
}

ir::Value Rstd(ir::Value v, ir::Value eps) {
  return Rsqrt(Mean(v * v, v.type().axes.back().name) + eps);
}

ir::Value RmsNorm(ir::Value x, ir::Value eps, Affine affine) {
  return Round(Apply(x * Rstd(x, eps), affine), ir::Elem::Storage());
}

}  // namespace tenon::ops::norm
