#include "ops/linear/batch_invariant.h"

namespace tenon::ops::linear {

Contract bmm_batch_invariant() {
  Contract c("linear", "bmm_batch_invariant");
  c.Doc(
      "y = a b for each of a batch of matrices; a row of y depends on its row of a and on its b "
      "alone, bit for bit, as in linear_batch_invariant");
  c.In("a", ir::Elem::Storage(), "batch, m, k").MayBeEmpty();
  c.In("b", ir::Elem::Storage(), "batch, k, n").MayBeEmpty();
  c.Out("y", ir::Elem::Storage(), "batch, m, n");
  c.Function(ComputeBatchInvariant);
  return c;
}

}  // namespace tenon::ops::linear
