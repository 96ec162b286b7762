#include "ops/norm/norm.h"
#include "ops/quant/quant.h"
#include "ops/registry.h"

namespace tenon::ops::quant {

Contract fused_add_rms_norm_dynamic_per_token_quant() {
  Contract c("quant", "fused_add_rms_norm_dynamic_per_token_quant");
  c.Doc(
      "residual_out = x + residual; n = rms_norm(residual_out); per row: scale = max(max|n|, "
      "1e-10) "
      "/ largest; q = round(n / scale)");
  c.In("x", ir::Elem::Storage(), "..., hidden");
  c.In("residual", ir::Elem::Storage(), "..., hidden");
  c.OptionalIn("weight", ir::Elem::Param(), "hidden", 1.0);
  c.Float("eps", 1e-6).NonNegative();
  c.KeywordOnly();
  DeclareDType(c);
  c.OptionalIn("bias", ir::Elem::Param(), "hidden", -0.0).NoneByDefault();
  c.Float("weight_offset", 0.0).ZeroWithout({"weight"});
  c.Out("q", DType::kI8, "..., hidden").DTypeFrom("dtype");
  c.Out("scale", DType::kF32, "..., 1").As("...");
  c.Out("residual_out", ir::Elem::Storage(), "..., hidden");
  c.Body([](ops::Body& b) {
    const ir::Value sum = Round(b.In("x") + b.In("residual"), ir::Elem::Storage());
    const norm::Affine affine = norm::OffsetAffine(b, "weight", "bias");
    const Quantised q = PerToken(norm::RmsNorm(sum, b.Attr("eps"), affine), b.Type("dtype"));
    b.Out("q", q.values);
    b.Out("scale", q.scale);
    b.Out("residual_out", sum);
  });
  return c;
}

}  // namespace tenon::ops::quant
