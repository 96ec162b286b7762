#include "ops/norm/norm.h"
#include "ops/registry.h"

namespace tenon::ops::norm {

Contract fused_add_rms_norm() {
  Contract c("norm", "fused_add_rms_norm");
  c.Doc("residual_out = x + residual; y = rms_norm(residual_out)");
  c.In("x", ir::Elem::Storage(), "..., hidden");
  c.In("residual", ir::Elem::Storage(), "..., hidden");
  c.OptionalIn("weight", ir::Elem::Param(), "hidden", 1.0);
  c.Float("eps", 1e-6).NonNegative();
  c.KeywordOnly();
  c.OptionalIn("bias", ir::Elem::Param(), "hidden", -0.0).NoneByDefault();
  c.Float("weight_offset", 0.0).ZeroWithout({"weight"});
  c.Out("y", ir::Elem::Storage(), "..., hidden");
  c.Out("residual_out", ir::Elem::Storage(), "..., hidden");
  c.InPlace("fused_add_rms_norm_", {{"y", "x"}, {"residual_out", "residual"}});
  c.Body([](ops::Body& b) {
    // The norm reads the rounded sum, as the unfused chain does.
    const ir::Value sum = Round(b.In("x") + b.In("residual"), ir::Elem::Storage());
    b.Out("y", RmsNorm(sum, b.Attr("eps"), OffsetAffine(b, "weight", "bias")));
    b.Out("residual_out", sum);
  });
  return c;
}

}  // namespace tenon::ops::norm
