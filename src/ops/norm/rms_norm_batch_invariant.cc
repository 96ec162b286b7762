#include "ops/norm/norm.h"
#include "ops/registry.h"

namespace tenon::ops::norm {

// rms_norm is batch invariant anyway; this is the name under which others offer that.
Contract rms_norm_batch_invariant() {
  Contract c("norm", "rms_norm_batch_invariant");
  c.Doc("y = rms_norm(x)");
  c.In("x", ir::Elem::Storage(), "..., hidden");
  c.OptionalIn("weight", ir::Elem::Param(), "hidden", 1.0);
  c.Float("eps", 1e-6).NonNegative();
  c.Out("y", ir::Elem::Storage(), "..., hidden");
  c.Body([](ops::Body& b) { b.Out("y", RmsNorm(b.In("x"), b.Attr("eps"), {b.In("weight"), {}})); });
  return c;
}

}  // namespace tenon::ops::norm
