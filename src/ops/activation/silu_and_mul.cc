#include "ops/activation/activation.h"
#include "ops/registry.h"

namespace tenon::ops::activation {

Contract silu_and_mul() {
  Contract c("activation", "silu_and_mul");
  c.Doc("y = silu(x[:d]) * x[d:]");
  DeclareGated(c);
  c.Body([](ops::Body& b) { b.Out("y", SiluAndMul(b.In("x"), ir::NamedAxis("d"))); });
  return c;
}

}  // namespace tenon::ops::activation
