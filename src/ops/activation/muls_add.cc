#include "ops/registry.h"

namespace tenon::ops::activation {

Contract muls_add() {
  Contract c("activation", "muls_add");
  c.Doc("out = x * scale + y, rounded once");
  c.In("x", ir::Elem::Storage(), "..., width");
  c.In("y", ir::Elem::Storage(), "..., width");
  c.Float("scale");
  c.Out("out", ir::Elem::Storage(), "..., width");
  c.Body([](ops::Body& b) {
    b.Out("out", Round(Fma(b.In("x"), b.Attr("scale"), b.In("y")), ir::Elem::Storage()));
  });
  return c;
}

}  // namespace tenon::ops::activation
