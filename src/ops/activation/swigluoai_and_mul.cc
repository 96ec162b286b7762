#include "ops/activation/activation.h"
#include "ops/registry.h"

namespace tenon::ops::activation {

Contract swigluoai_and_mul() {
  Contract c("activation", "swigluoai_and_mul");
  c.Doc(
      "g = min(x[0::2], limit), u = clamp(x[1::2], -limit, limit); y = (u + 1) * g * "
      "sigmoid(alpha*g)");
  DeclareGated(c);
  c.Float("alpha", 1.702);
  c.Float("limit", 7.0).Positive();
  c.Body([](ops::Body& b) {
    const auto [gate, up] = SplitInterleaved(b.In("x"));
    const ir::Value limit = b.Attr("limit");
    const ir::Value g = Min(gate, limit);
    const ir::Value u = Clamp(up, -limit, limit);
    b.Out("y", Round((u + 1.0) * (g * Sigmoid(b.Attr("alpha") * g)), ir::Elem::Storage()));
  });
  return c;
}

}  // namespace tenon::ops::activation
