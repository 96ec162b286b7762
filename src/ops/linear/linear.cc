#include "ops/linear/product.h"
#include "ops/registry.h"

namespace tenon::ops::linear {

Contract linear() {
  Contract c("linear", "linear");
  c.Doc("y = x weight^T + bias");
  DeclareRows(c);
  DeclareWeight(c, "weight", "n, k");
  DeclareBias(c, "bias", "n");
  c.Out("y", ir::Elem::Storage(), "..., n");
  c.Structural();
  c.Body([](ops::Body& b) {
    b.Out("y", Round(Project(b, b.In("x"), "weight", "bias", "k"), ir::Elem::Storage()));
  });
  return c;
}

}  // namespace tenon::ops::linear
