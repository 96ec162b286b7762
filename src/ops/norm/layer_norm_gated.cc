#include "ops/norm/norm.h"
#include "ops/registry.h"

namespace tenon::ops::norm {

Contract layer_norm_gated() {
  Contract c("norm", "layer_norm_gated");
  c.Doc(
      "per group: y = norm(x) * act(z) when norm_before_gate, else norm(x * act(z)); norm(u) = (u "
      "- mean(u)) / sqrt(var(u) + eps) * weight + bias");
  DeclareGroups(c);
  c.In("weight", ir::Elem::Param(), "groups*group_size").As("groups, group_size");
  DeclareGroupBias(c);
  DeclareGate(c);
  c.Float("eps", 1e-5).NonNegative();
  c.KeywordOnly();
  DeclareGating(c);
  c.Body([](ops::Body& b) {
    const ir::Value eps = b.Attr("eps");
    b.Out("y", Gated(b, [eps](ir::Value u) {
            const ir::Value centred = u - Mean(u, u.type().axes.back().name);
            return centred * Rstd(centred, eps);
          }));
  });
  return c;
}

}  // namespace tenon::ops::norm
