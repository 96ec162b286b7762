#include "ops/activation/activation.h"
#include "ops/registry.h"

namespace tenon::ops::activation {

Contract silu_and_mul_with_clamp() {
  Contract c("activation", "silu_and_mul_with_clamp");
  c.Doc(
      "g = min(x[:d], limit), u = clamp(x[d:], -limit, limit); y = g * sigmoid(alpha*g) * (u + "
      "beta)");
  DeclareGated(c);
  c.Float("limit").Positive();
  c.Float("alpha", 1.0);
  c.Float("beta", 0.0);
  c.Body([](ops::Body& b) {
    const auto [gate, up] = SplitHalves(b.In("x"));
    const ir::Value limit = b.Attr("limit");
    const ir::Value g = Min(gate, limit);
    const ir::Value u = Clamp(up, -limit, limit);
    const ir::Value y = g * Sigmoid(b.Attr("alpha") * g) * (u + b.Attr("beta"));
    b.Out("y", Round(y, ir::Elem::Storage()));
  });
  return c;
}

}  // namespace tenon::ops::activation
