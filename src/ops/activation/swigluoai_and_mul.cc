#include "ops/activation/activation.h"
#include "ops/registry.h"

namespace tenon::ops::activation {

Contract swigluoai_and_mul() {
  Contract c("activation", "swigluoai_and_mul");
  c.Doc(
      "g = min(x[0::2], limit), u = clamp(x[1::2], -limit, limit); y = (u + 1) * g * "
      "sigmoid(alpha*g)");
  DeclareGated(c);
  c.Float("alpha", 1.702);
  c.Float("limit", 7.0).Positive();
  c.Body([](ops::Body& b) {
    b.Out("y", SwigluOai(SplitInterleaved(b.In("x")), b.Attr("alpha"), b.Attr("limit")));
  });
  return c;
}

}  // namespace tenon::ops::activation
