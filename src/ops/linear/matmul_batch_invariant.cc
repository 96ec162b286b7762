#include "ops/linear/batch_invariant.h"

namespace tenon::ops::linear {

Contract matmul_batch_invariant() {
  Contract c("linear", "matmul_batch_invariant");
  c.Doc(
      "y = a b + bias; a row of y depends on its row of a and on b alone, bit for bit, as in "
      "linear_batch_invariant");
  c.In("a", ir::Elem::Storage(), "..., m, k").Broadcasts().MayBeEmpty();
  c.In("b", ir::Elem::Storage(), "..., k, n").Broadcasts().MayBeEmpty();
  c.OptionalIn("bias", ir::Elem::Param(), "n", -0.0).NoneByDefault().MayBeEmpty();
  c.Out("y", ir::Elem::Storage(), "..., m, n");
  c.Function(ComputeBatchInvariant);
  return c;
}

}  // namespace tenon::ops::linear
