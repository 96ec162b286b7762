#include "ops/norm/norm.h"
#include "ops/registry.h"

namespace tenon::ops::norm {

Contract gemma_rms_norm() {
  Contract c("norm", "gemma_rms_norm");
  c.Doc("y = x / sqrt(mean(x^2) + eps) * (1 + weight)");
  c.In("x", ir::Elem::Storage(), "..., hidden");
  c.In("weight", ir::Elem::Param(), "hidden");
  c.Float("eps", 1e-6).NonNegative();
  c.Out("y", ir::Elem::Storage(), "..., hidden");
  c.Body([](ops::Body& b) {
    b.Out("y", RmsNorm(b.In("x"), b.Attr("eps"), {b.In("weight") + 1.0, {}}));
  });
  return c;
}

}  // namespace tenon::ops::norm
