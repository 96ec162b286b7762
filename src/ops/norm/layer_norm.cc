#include "ops/norm/norm.h"
#include "ops/registry.h"

namespace tenon::ops::norm {

Contract layer_norm() {
  Contract c("norm", "layer_norm");
  c.Doc("y = (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps) * weight + bias");
  c.In("x", ir::Elem::Storage(), "..., hidden");
  c.OptionalIn("weight", ir::Elem::Param(), "hidden", 1.0);
  c.OptionalIn("bias", ir::Elem::Param(), "hidden", -0.0);
  c.Float("eps", 1e-5).NonNegative();
  c.Out("y", ir::Elem::Storage(), "..., hidden");
  c.Body([](ops::Body& b) {
    b.Out("y", LayerNorm(b.In("x"), b.Attr("eps"), {b.In("weight"), b.In("bias")}));
  });
  return c;
}

}  // namespace tenon::ops::norm
