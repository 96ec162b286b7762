#include "ops/linear/batch_invariant.h"

namespace tenon::ops::linear {

Contract linear_batch_invariant() {
  Contract c("linear", "linear_batch_invariant");
  c.Doc(
      "y = x weight^T + bias; a row of y depends on its row of x alone, bit for bit: the order of "
      "additions is that of backend/cpu/dot.h");
  c.In("x", ir::Elem::Storage(), "..., k").MayBeEmpty();
  c.In("weight", ir::Elem::Storage(), "n, k").MayBeEmpty();
  c.OptionalIn("bias", ir::Elem::Param(), "n", -0.0).NoneByDefault().MayBeEmpty();
  c.Out("y", ir::Elem::Storage(), "..., n");
  c.Function(ComputeBatchInvariant);
  return c;
}

}  // namespace tenon::ops::linear
