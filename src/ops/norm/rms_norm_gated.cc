#include "ops/activation/activation.h"
#include "ops/norm/norm.h"
#include "ops/registry.h"

namespace tenon::ops::norm {

Contract rms_norm_gated() {
  Contract c("norm", "rms_norm_gated");
  c.Doc(
      "per group: y = norm(x) * act(z) when norm_before_gate, else norm(x * act(z)); norm(u) = u / "
      "sqrt(mean(u^2) + eps) * weight + bias");
  c.In("x", ir::Elem::Storage(), "..., groups*group_size").As("..., groups, group_size");
  c.In("weight", ir::Elem::Param(), "groups*group_size").As("groups, group_size");
  c.OptionalIn("z", ir::Elem::Storage(), "..., groups*group_size", 0.0)
      .NoneByDefault()
      .StaticPresence()
      .As("..., groups, group_size");
  c.Float("eps", 1e-5).NonNegative();
  c.KeywordOnly();
  c.OptionalIn("bias", ir::Elem::Param(), "groups*group_size", -0.0)
      .NoneByDefault()
      .As("groups, group_size");
  c.OptionalInt("group_size").Positive().AbsentSize("groups", 1);
  c.Bool("norm_before_gate", false).Static();
  c.String("act", "silu", {"silu", "swish=silu", "sigmoid"});
  c.Out("y", ir::Elem::Storage(), "..., groups*group_size").As("..., groups, group_size");
  c.Body([](ops::Body& b) {
    const ir::Value x = b.In("x");
    const ir::Value eps = b.Attr("eps");
    const Affine affine{b.In("weight"), b.In("bias")};
    if (!b.Flag("z")) {
      b.Out("y", RmsNorm(x, eps, affine));
      return;
    }
    const ir::Value z = b.In("z");
    const ir::Value gate = b.Word("act") == "silu" ? activation::Silu(z) : Sigmoid(z);
    if (b.Flag("norm_before_gate")) {
      b.Out("y", Round(Apply(x * Rstd(x, eps), affine) * gate, ir::Elem::Storage()));
    } else {
      b.Out("y", RmsNorm(x * gate, eps, affine));
    }
  });
  return c;
}

}  // namespace tenon::ops::norm
