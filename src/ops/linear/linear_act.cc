#include "ops/linear/product.h"
#include "ops/registry.h"

namespace tenon::ops::linear {

Contract linear_act() {
  Contract c("linear", "linear_act");
  c.Doc("y = act(x weight^T + bias)");
  DeclareRows(c);
  DeclareWeight(c, "weight", "n, k");
  DeclareBias(c, "bias", "n");
  DeclareAct(c);
  c.Out("y", ir::Elem::Storage(), "..., n");
  c.Structural();
  c.Body([](ops::Body& b) {
    const ir::Value sum = Project(b, b.In("x"), "weight", "bias", "k");
    b.Out("y", Round(Activate(b.Word("act"), sum), ir::Elem::Storage()));
  });
  return c;
}

}  // namespace tenon::ops::linear
