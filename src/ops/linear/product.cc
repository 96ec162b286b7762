#include "ops/linear/product.h"

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
  if (act == "none") return x;
  return act == "sigmoid" ? Sigmoid(x) : activation::Act(act, x);
}

ir::Value ActAndMul(std::string_view act, ir::Value projected) {
  if (act == "swigluoai") {
    ir::Builder& b = *projected.builder();
    return activation::SwigluOai(activation::SplitInterleaved(projected), b.Const(1.702),
                                 b.Const(7.0));
  }
  const auto [gate, up] = activation::SplitHalves(projected);
  return Round(activation::ActAndMul(act, gate, up), ir::Elem::Storage());
}

}  // namespace tenon::ops::linear
