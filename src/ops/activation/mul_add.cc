#include "ops/registry.h"

namespace tenon::ops::activation {

Contract mul_add() {
  Contract op("activation", "mul_add");
  op.Doc("out = a * b + c, rounded once; b and c are broadcast to the shape of a");
  op.In("a", ir::Elem::Storage(), "..., width");
  op.In("b", ir::Elem::Storage(), "..., width | ..., 1").As("..., width").Broadcasts();
  op.In("c", ir::Elem::Storage(), "..., width | ..., 1").As("..., width").Broadcasts();
  op.Out("out", ir::Elem::Storage(), "..., width");
  op.Body([](ops::Body& b) {
    b.Out("out", Round(Fma(b.In("a"), b.In("b"), b.In("c")), ir::Elem::Storage()));
  });
  return op;
}

}  // namespace tenon::ops::activation
