#include "ops/norm/norm.h"
#include "ops/quant/quant.h"
#include "ops/registry.h"

namespace tenon::ops::quant {

Contract rms_norm_static_quant() {
  Contract c("quant", "rms_norm_static_quant");
  c.Doc("q = quantize(rms_norm(x), scale, offset)");
  c.In("x", ir::Elem::Storage(), "..., hidden");
  c.OptionalIn("weight", ir::Elem::Param(), "hidden", 1.0);
  DeclareScale(c);
  DeclareOffset(c);
  c.Float("eps", 1e-6).NonNegative();
  c.KeywordOnly();
  DeclareDType(c);
  c.OptionalIn("bias", ir::Elem::Param(), "hidden", -0.0).NoneByDefault();
  c.Float("weight_offset", 0.0).ZeroWithout({"weight"});
  c.Out("q", DType::kI8, "..., hidden").DTypeFrom("dtype");
  c.Body([](ops::Body& b) {
    const norm::Affine affine = norm::OffsetAffine(b, "weight", "bias");
    b.Out("q", Static(b, norm::RmsNorm(b.In("x"), b.Attr("eps"), affine)));
  });
  return c;
}

}  // namespace tenon::ops::quant
