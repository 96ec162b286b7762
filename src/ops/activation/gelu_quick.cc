#include "ops/activation/activation.h"
#include "ops/registry.h"

namespace tenon::ops::activation {

Contract gelu_quick() {
  Contract c("activation", "gelu_quick");
  c.Doc("y = x * sigmoid(1.702*x)");
  c.In("x", ir::Elem::Storage(), "..., width");
  c.Out("y", ir::Elem::Storage(), "..., width");
  c.Body([](ops::Body& b) { b.Out("y", Round(GeluQuick(b.In("x")), ir::Elem::Storage())); });
  return c;
}

}  // namespace tenon::ops::activation
