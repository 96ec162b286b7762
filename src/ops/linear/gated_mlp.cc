#include "ops/linear/product.h"
#include "ops/registry.h"

namespace tenon::ops::linear {

Contract gated_mlp() {
  Contract c("linear", "gated_mlp");
  c.Doc("h = linear_act_and_mul(x, gate_up_weight); y = h down_weight^T + down_bias + residual");
  DeclareRows(c);
  DeclareWeight(c, "gate_up_weight", "width=2*d, k");
  DeclareWeight(c, "down_weight", "n, d");
  DeclareBias(c, "gate_up_bias", "width=2*d");
  DeclareBias(c, "down_bias", "n");
  DeclareGatedAct(c);
  c.OptionalIn("residual", ir::Elem::Storage(), "..., n", -0.0).NoneByDefault();
  c.Out("y", ir::Elem::Storage(), "..., n");
  c.Structural();
  c.Body([](ops::Body& b) {
    const ir::Value sums = Project(b, b.In("x"), "gate_up_weight", "gate_up_bias", "k");
    const ir::Value hidden = ActAndMul(b.Word("act"), sums);
    const ir::Value down = Project(b, hidden, "down_weight", "down_bias", "d");
    b.Out("y", Round(down + b.In("residual"), ir::Elem::Storage()));
  });
  return c;
}

}  // namespace tenon::ops::linear
