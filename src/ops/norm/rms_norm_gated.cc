#include "ops/norm/norm.h"
#include "ops/registry.h"

namespace tenon::ops::norm {

Contract rms_norm_gated() {
  Contract c("norm", "rms_norm_gated");
  c.Doc(
      "per group: y = norm(x) * act(z) when norm_before_gate, else norm(x * act(z)); norm(u) = u / "
      "sqrt(mean(u^2) + eps) * weight + bias");
  DeclareGroups(c);
  c.In("weight", ir::Elem::Param(), "groups*group_size").As("groups, group_size");
  DeclareGate(c);
  c.Float("eps", 1e-5).NonNegative();
  c.KeywordOnly();
  DeclareGroupBias(c);
  DeclareGating(c);
  c.Body([](ops::Body& b) {
    const ir::Value eps = b.Attr("eps");
    b.Out("y", Gated(b, [eps](ir::Value u) { return u * Rstd(u, eps); }));
  });
  return c;
}

}  // namespace tenon::ops::norm
