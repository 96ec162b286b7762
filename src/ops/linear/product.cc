#include "ops/linear/product.h"

#include "base/error.h"
#include "ops/activation/activation.h"

namespace tenon::ops::linear {

void DeclareRows(Contract& c) { c.In("x", ir::Elem::Storage(), "..., k").MayBeEmpty(); }

void DeclareWeight(Contract& c, std::string_view name, std::string_view shape) {
  c.In(name, ir::Elem::Storage(), shape).MayBeEmpty();
}

void DeclareBias(Contract& c, std::string_view name, std::string_view shape) {
  c.OptionalIn(name, ir::Elem::Param(), shape, -0.0).NoneByDefault();
}

void DeclareAct(Contract& c) {
  c.String("act", "silu",
           {"none", "silu", "gelu", "gelu_tanh", "gelu_quick", "relu", "relu2", "sigmoid"})
      .Static();
}

void DeclareGatedAct(Contract& c) {
  c.String("act", "silu", {"silu", "gelu", "gelu_tanh", "gelu_quick", "relu", "relu2", "swigluoai"})
      .Static();
}

ir::Value Project(const Body& b, ir::Value x, std::string_view weight, std::string_view bias,
                  std::string_view contracted) {
  return Matmul(x, b.In(weight), contracted) + b.In(bias);
}

ir::Value Activate(std::string_view act, ir::Value x) {
  if (act == "silu") return activation::Silu(x);
  if (act == "gelu") return activation::Gelu(x);
  if (act == "gelu_tanh") return activation::GeluTanh(x);
  if (act == "gelu_quick") return activation::GeluQuick(x);
  if (act == "sigmoid") return Sigmoid(x);
  if (act == "none") return x;
  const ir::Value positive = Max(x, 0.0);
  if (act == "relu") return positive;
  TENON_ASSERT(act == "relu2", "there is no activation {}", act);
  return positive * positive;
}

ir::Value ActAndMul(std::string_view act, ir::Value projected) {
  if (act != "swigluoai") {
    const auto [gate, up] = activation::SplitHalves(projected);
    return Round(activation::ActAndMul(act, gate, up), ir::Elem::Storage());
  }
  const auto [gate, up] = activation::SplitInterleaved(projected);
  const ir::Value g = Min(gate, 7.0);
  const ir::Value u = Max(Min(up, 7.0), -7.0);
  return Round((u + 1.0) * (g * Sigmoid(1.702 * g)), ir::Elem::Storage());
}

}  // namespace tenon::ops::linear
