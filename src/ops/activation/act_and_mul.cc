#include "ops/activation/activation.h"
#include "ops/registry.h"

namespace tenon::ops::activation {

Contract act_and_mul() {
  Contract c("activation", "act_and_mul");
  c.Doc("y = act(gate) * up");
  c.In("gate", ir::Elem::Storage(), "..., width");
  c.In("up", ir::Elem::Storage(), "..., width");
  c.String("act", std::nullopt, {"silu", "gelu", "gelu_tanh", "gelu_quick", "relu", "relu2"});
  // 1 + erf and 1 + tanh cancel for negative gates: what is left of them is exact to float32's
  // rounding of 1, which `up` multiplies.
  c.Out("y", ir::Elem::Storage(), "..., width").ErrorScale("up");
  c.Body([](ops::Body& b) {
    b.Out("y", Round(ActAndMul(b.Word("act"), b.In("gate"), b.In("up")), ir::Elem::Storage()));
  });
  return c;
}

}  // namespace tenon::ops::activation
