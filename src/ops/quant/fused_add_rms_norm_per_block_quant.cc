#include "ops/norm/norm.h"
#include "ops/quant/quant.h"
#include "ops/registry.h"

namespace tenon::ops::quant {

Contract fused_add_rms_norm_per_block_quant() {
  Contract c("quant", "fused_add_rms_norm_per_block_quant");
  c.Doc(
      "residual_out = x + residual; q, scale = per_token_group_quant_fp8(rms_norm(residual_out))");
  DeclareGroupedRow(c, "x");
  DeclareGroupedRow(c, "residual");
  norm::DeclareGroupedWeight(c);
  c.Float("eps", 1e-6).NonNegative();
  c.Int("group_size", 128).Positive();
  c.KeywordOnly();
  norm::DeclareGroupedBias(c);
  c.Float("weight_offset", 0.0).ZeroWithout({"weight"});
  c.Bool("scale_ue8m0", false);
  DeclareGroupResults(c);
  c.Out("residual_out", ir::Elem::Storage(), "..., groups*group_size")
      .As("..., hidden=groups*group_size");
  c.Body([](ops::Body& b) {
    const ir::Value sum = Round(b.In("x") + b.In("residual"), ir::Elem::Storage());
    const norm::Affine affine = norm::OffsetAffine(b, "weight", "bias");
    const Quantised q = PerGroup(norm::RmsNorm(sum, b.Attr("eps"), affine), b.Attr("scale_ue8m0"));
    b.Out("q", q.values);
    b.Out("scale", q.scale);
    b.Out("residual_out", sum);
  });
  return c;
}

}  // namespace tenon::ops::quant
