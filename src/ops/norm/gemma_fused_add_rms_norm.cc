#include "ops/norm/norm.h"
#include "ops/registry.h"

namespace tenon::ops::norm {

Contract gemma_fused_add_rms_norm() {
  Contract c("norm", "gemma_fused_add_rms_norm");
  c.Doc("residual_out = x + residual; y = gemma_rms_norm(residual_out)");
  c.In("x", ir::Elem::Storage(), "..., hidden");
  c.In("residual", ir::Elem::Storage(), "..., hidden");
  c.In("weight", ir::Elem::Param(), "hidden");
  c.Float("eps", 1e-6).NonNegative();
  c.Out("y", ir::Elem::Storage(), "..., hidden");
  c.Out("residual_out", ir::Elem::Storage(), "..., hidden");
  c.Body([](ops::Body& b) {
    const ir::Value sum = Round(b.In("x") + b.In("residual"), ir::Elem::Storage());
    b.Out("y", RmsNorm(sum, b.Attr("eps"), {b.In("weight") + 1.0, {}}));
    b.Out("residual_out", sum);
  });
  return c;
}

}  // namespace tenon::ops::norm
