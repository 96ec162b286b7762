#include "ops/activation/activation.h"
#include "ops/registry.h"

namespace tenon::ops::activation {

Contract swiglustep_and_mul() {
  Contract c("activation", "swiglustep_and_mul");
  c.Doc("y = min(silu(x[:d]), limit) * clamp(x[d:], -limit, limit)");
  DeclareGated(c);
  c.Float("limit", 7.0).Positive();
  c.Body([](ops::Body& b) {
    const auto [gate, up] = SplitHalves(b.In("x"));
    const ir::Value limit = b.Attr("limit");
    const ir::Value y = Min(Silu(gate), limit) * Clamp(up, -limit, limit);
    b.Out("y", Round(y, ir::Elem::Storage()));
  });
  return c;
}

}  // namespace tenon::ops::activation
