#include "ops/linear/product.h"
#include "ops/registry.h"

namespace tenon::ops::linear {

Contract linear_act_and_mul() {
  Contract c("linear", "linear_act_and_mul");
  c.Doc(
      "y = act(x gate^T + bias) * (x up^T + bias), gate and up the halves of gate_up_weight; "
      "swigluoai: its even and odd rows");
  DeclareRows(c);
  DeclareWeight(c, "gate_up_weight", "width=2*d, k");
  DeclareBias(c, "gate_up_bias", "width=2*d");
  DeclareGatedAct(c);
  c.Out("y", ir::Elem::Storage(), "..., d");
  c.Structural();
  c.Body([](ops::Body& b) {
    const ir::Value sums = Project(b, b.In("x"), "gate_up_weight", "gate_up_bias", "k");
    b.Out("y", ActAndMul(b.Word("act"), sums));
  });
  return c;
}

}  // namespace tenon::ops::linear
