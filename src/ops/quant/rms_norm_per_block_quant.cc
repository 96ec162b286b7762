#include "ops/norm/norm.h"
#include "ops/quant/quant.h"
#include "ops/registry.h"

namespace tenon::ops::quant {

Contract rms_norm_per_block_quant() {
  Contract c("quant", "rms_norm_per_block_quant");
  c.Doc("q, scale = per_token_group_quant_fp8(rms_norm(x))");
  DeclareGroupedRow(c, "x");
  norm::DeclareGroupedWeight(c);
  c.Float("eps", 1e-6).NonNegative();
  c.Int("group_size", 128).Positive();
  c.KeywordOnly();
  norm::DeclareGroupedBias(c);
  c.Float("weight_offset", 0.0).ZeroWithout({"weight"});
  c.Bool("scale_ue8m0", false);
  DeclareGroupResults(c);
  c.Body([](ops::Body& b) {
    const norm::Affine affine = norm::OffsetAffine(b, "weight", "bias");
    const Quantised q =
        PerGroup(norm::RmsNorm(b.In("x"), b.Attr("eps"), affine), b.Attr("scale_ue8m0"));
    b.Out("q", q.values);
    b.Out("scale", q.scale);
  });
  return c;
}

}  // namespace tenon::ops::quant
