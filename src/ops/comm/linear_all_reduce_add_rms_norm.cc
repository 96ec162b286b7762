#include "ops/registry.h"

namespace tenon::ops::comm {

Contract linear_all_reduce_add_rms_norm() {
  Contract c("comm", "linear_all_reduce_add_rms_norm");
  c.Doc("residual_out = all_reduce(linear(x)) + residual; y = rms_norm(residual_out)");
  c.In("x", ir::Elem::Storage(), "..., k").MayBeEmpty();
  c.In("weight", ir::Elem::Storage(), "n, k").MayBeEmpty();
  c.OptionalIn("bias", ir::Elem::Param(), "n", 0);
  c.In("residual", ir::Elem::Storage(), "..., n");
  c.OptionalIn("norm_weight", ir::Elem::Param(), "n", 1.0);
  c.Float("eps").NonNegative();
  c.Text("group_name");
  c.KeywordOnly();
  c.Float("weight_offset", 0.0).ZeroWithout({"norm_weight"});
  c.Out("y", ir::Elem::Storage(), "..., n");
  c.Out("residual_out", ir::Elem::Storage(), "..., n");
  c.Composition();
  return c;
}

}  // namespace tenon::ops::comm
