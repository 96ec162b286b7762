#include "ops/norm/norm.h"
#include "ops/quant/quant.h"
#include "ops/registry.h"

namespace tenon::ops::quant {

Contract fused_add_rms_norm_static_quant() {
  Contract c("quant", "fused_add_rms_norm_static_quant");
  c.Doc("residual_out = x + residual; q = quantize(rms_norm(residual_out), scale, offset)");
  c.In("x", ir::Elem::Storage(), "..., hidden");
  c.In("residual", ir::Elem::Storage(), "..., hidden");
  c.OptionalIn("weight", ir::Elem::Param(), "hidden", 1.0);
  DeclareScale(c);
  DeclareOffset(c);
  c.Float("eps", 1e-6).NonNegative();
  c.KeywordOnly();
  DeclareDType(c);
  c.OptionalIn("bias", ir::Elem::Param(), "hidden", -0.0).NoneByDefault();
  c.Float("weight_offset", 0.0).ZeroWithout({"weight"});
  c.Out("q", DType::kI8, "..., hidden").DTypeFrom("dtype");
  c.Out("residual_out", ir::Elem::Storage(), "..., hidden");
  c.Body([](ops::Body& b) {
    const ir::Value sum = Round(b.In("x") + b.In("residual"), ir::Elem::Storage());
    const norm::Affine affine = norm::OffsetAffine(b, "weight", "bias");
    b.Out("q", Static(b, norm::RmsNorm(sum, b.Attr("eps"), affine)));
    b.Out("residual_out", sum);
  });
  return c;
}

}  // namespace tenon::ops::quant
