#include "ops/linear/product.h"
#include "ops/registry.h"

namespace tenon::ops::linear {

Contract linear_add() {
  Contract c("linear", "linear_add");
  c.Doc("y = x weight^T + bias + residual");
  DeclareRows(c);
  DeclareWeight(c, "weight", "n, k");
  c.In("residual", ir::Elem::Storage(), "..., n");
  DeclareBias(c, "bias", "n");
  c.Out("y", ir::Elem::Storage(), "..., n");
  c.Structural();
  c.Body([](ops::Body& b) {
    const ir::Value sum = Project(b, b.In("x"), "weight", "bias", "k");
    b.Out("y", Round(sum + b.In("residual"), ir::Elem::Storage()));
  });
  return c;
}

}  // namespace tenon::ops::linear
