#include "ops/registry.h"

namespace tenon::ops::comm {

Contract all_reduce_add_rms_norm() {
  Contract c("comm", "all_reduce_add_rms_norm");
  c.Doc("residual_out = all_reduce(x) + residual; y = rms_norm(residual_out)");
  c.In("x", ir::Elem::Storage(), "..., hidden");
  c.In("residual", ir::Elem::Storage(), "..., hidden");
  c.OptionalIn("weight", ir::Elem::Param(), "hidden", 1.0);
  c.Float("eps").NonNegative();
  c.Text("group_name");
  c.KeywordOnly();
  c.Float("weight_offset", 0.0).ZeroWithout({"weight"});
  c.Out("y", ir::Elem::Storage(), "..., hidden");
  c.Out("residual_out", ir::Elem::Storage(), "..., hidden");
  c.Composition();
  return c;
}

}  // namespace tenon::ops::comm
