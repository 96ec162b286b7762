#include "ops/linear/batch_invariant.h"

namespace tenon::ops::linear {

Contract addmm_batch_invariant() {
  Contract c("linear", "addmm_batch_invariant");
  c.Doc(
      "y = alpha * (a b) + beta * bias; bias is not read where beta is 0; a row of y depends on "
      "its row of a and on b alone, bit for bit, as in linear_batch_invariant");
  c.In("bias", ir::Elem::Param(), "..., n").Broadcasts().MayBeEmpty();
  c.In("a", ir::Elem::Storage(), "..., k").Broadcasts().MayBeEmpty();
  c.In("b", ir::Elem::Storage(), "k, n").MayBeEmpty();
  c.KeywordOnly();
  c.Float("beta", 1.0);
  c.Float("alpha", 1.0);
  c.Out("y", ir::Elem::Storage(), "..., n");
  c.Function(ComputeAddmmBatchInvariant);
  return c;
}

}  // namespace tenon::ops::linear
