#include "ops/norm/norm.h"

#include "ops/activation/activation.h"

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

ir::Value LayerNorm(ir::Value x, ir::Value eps, Affine affine) {
  const ir::Value centred = x - Mean(x, x.type().axes.back().name);
  return Round(Apply(centred * Rstd(centred, eps), affine), ir::Elem::Storage());
}

void DeclareGroupedWeight(Contract& c) {
  c.OptionalIn("weight", ir::Elem::Param(), "groups*group_size", 1.0)
      .As("hidden=groups*group_size");
}

void DeclareGroupedBias(Contract& c) {
  c.OptionalIn("bias", ir::Elem::Param(), "groups*group_size", -0.0)
      .NoneByDefault()
      .As("hidden=groups*group_size");
}

void DeclareGroups(Contract& c) {
  c.In("x", ir::Elem::Storage(), "..., groups*group_size").As("..., groups, group_size");
}

void DeclareGroupBias(Contract& c) {
  c.OptionalIn("bias", ir::Elem::Param(), "groups*group_size", -0.0)
      .NoneByDefault()
      .As("groups, group_size");
}

void DeclareGate(Contract& c) {
  c.OptionalIn("z", ir::Elem::Storage(), "..., groups*group_size", 0.0)
      .NoneByDefault()
      .StaticPresence()
      .As("..., groups, group_size");
}

void DeclareGating(Contract& c) {
  c.OptionalInt("group_size").Positive().AbsentSize("groups", 1);
  c.Bool("norm_before_gate", false).Static();
  c.String("act", "silu", {"silu", "swish=silu", "sigmoid"});
  c.Out("y", ir::Elem::Storage(), "..., groups*group_size").As("..., groups, group_size");
}

ir::Value Gated(const Body& b, const std::function<ir::Value(ir::Value)>& normalise) {
  const ir::Value x = b.In("x");
  const Affine affine{b.In("weight"), b.In("bias")};
  if (!b.Flag("z")) return Round(Apply(normalise(x), affine), ir::Elem::Storage());
  const ir::Value z = b.In("z");
  const ir::Value gate = b.Word("act") == "silu" ? activation::Silu(z) : Sigmoid(z);
  const ir::Value y = b.Flag("norm_before_gate") ? Apply(normalise(x), affine) * gate
                                                 : Apply(normalise(x * gate), affine);
  return Round(y, ir::Elem::Storage());
}

}  // namespace tenon::ops::norm
