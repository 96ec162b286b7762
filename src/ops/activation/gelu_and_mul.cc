#include "ops/activation/activation.h"
#include "ops/registry.h"

namespace tenon::ops::activation {

Contract gelu_and_mul() {
  Contract c("activation", "gelu_and_mul");
  c.Doc("y = gelu(x[:d]) * x[d:], gelu(g) = g/2 * (1 + erf(g/sqrt(2)))");
  DeclareGated(c);
  c.Body([](ops::Body& b) {
    const auto [gate, up] = SplitHalves(b.In("x"));
    b.Out("y", Round(Gelu(gate) * up, ir::Elem::Storage()));
  });
  return c;
}

}  // namespace tenon::ops::activation
