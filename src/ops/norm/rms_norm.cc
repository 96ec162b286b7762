#include "ops/norm/norm.h"
#include "ops/registry.h"

namespace tenon::ops::norm {

Contract rms_norm() {
  Contract c("norm", "rms_norm");
  c.Doc("y = x / sqrt(mean(x[:variance_size]^2) + eps) * (weight + weight_offset) + bias");
  c.In("x", ir::Elem::Storage(), "..., hidden");
  c.OptionalIn("weight", ir::Elem::Param(), "hidden", 1.0);
  c.Float("eps", 1e-6).NonNegative();
  c.KeywordOnly();
  c.OptionalIn("bias", ir::Elem::Param(), "hidden", -0.0).NoneByDefault();
  c.OptionalInt("variance_size", "hidden").Positive().StaticPresence();
  c.Float("weight_offset", 0.0).ZeroWithout({"weight"});
  c.Require("variance_size", Compare::kLe, "hidden",
            "variance_size must not exceed the size of x's last axis");
  c.Out("y", ir::Elem::Storage(), "..., hidden");
  c.Body([](ops::Body& b) {
    const ir::Value x = b.In("x");
    const ir::Value v =
        b.Flag("variance_size") ? Slice(x, "hidden", 0, ir::NamedAxis("variance_size")) : x;
    const ir::Value normal = x * Rstd(v, b.Attr("eps"));
    b.Out("y", Round(Apply(normal, OffsetAffine(b, "weight", "bias")), ir::Elem::Storage()));
  });
  return c;
}

}  // namespace tenon::ops::norm
