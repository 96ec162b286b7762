#include "ops/linear/product.h"
#include "ops/registry.h"

namespace tenon::ops::linear {

Contract batch_matmul_transpose() {
  Contract c("linear", "batch_matmul_transpose");
  c.Doc("y[m, batch, n] = sum over k of a[m, batch, k] b[batch, k, n]");
  c.In("a", ir::Elem::Storage(), "m, batch, k").MayBeEmpty();
  c.In("b", ir::Elem::Storage(), "batch, k, n").MayBeEmpty();
  c.Out("y", ir::Elem::Storage(), "m, batch, n");
  c.Structural();
  c.Body([](ops::Body& b) {
    b.Out("y", Round(Matmul(b.In("a"), b.In("b"), "k"), ir::Elem::Storage()));
  });
  return c;
}

}  // namespace tenon::ops::linear
