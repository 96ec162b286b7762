#include "ops/activation/activation.h"
#include "ops/registry.h"

namespace tenon::ops::activation {

Contract gelu_tanh_and_mul() {
  Contract c("activation", "gelu_tanh_and_mul");
  c.Doc(
      "y = gelu_tanh(x[:d]) * x[d:], gelu_tanh(g) = g/2 * (1 + tanh(sqrt(2/pi) * (g + "
      "0.044715*g^3)))");
  DeclareGated(c);
  c.Body([](ops::Body& b) {
    const auto [gate, up] = SplitHalves(b.In("x"));
    b.Out("y", Round(GeluTanh(gate) * up, ir::Elem::Storage()));
  });
  return c;
}

}  // namespace tenon::ops::activation
