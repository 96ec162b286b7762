#include "ops/linear/product.h"
#include "ops/norm/norm.h"
#include "ops/registry.h"

namespace tenon::ops::linear {
namespace {

ir::Value Normalised(const Body& b) {
  const ir::Value x = b.In("x");
  const ir::Value eps = b.Attr("eps");
  const std::string& kind = b.Word("norm");
  const ir::Value weight = b.In("norm_weight");
  const ir::Value bias = b.In("norm_bias");
  if (kind == "layer_norm") return norm::LayerNorm(x, eps, {weight, bias});
  const ir::Value factor = kind == "gemma_rms_norm" ? weight + 1.0 : weight;
  return norm::RmsNorm(x, eps, {factor, bias});
}

}  // namespace

Contract norm_gated_mlp() {
  Contract c("linear", "norm_gated_mlp");
  c.Doc("y = gated_mlp(norm(x), ...), plus x with add_residual");
  c.In("x", ir::Elem::Storage(), "..., k");
  c.In("norm_weight", ir::Elem::Param(), "k");
  c.OptionalIn("norm_bias", ir::Elem::Param(), "k", -0.0);
  DeclareWeight(c, "gate_up_weight", "width=2*d, k");
  DeclareWeight(c, "down_weight", "n, d");
  c.String("norm", "rms_norm", {"rms_norm", "layer_norm", "gemma_rms_norm"}).Static();
  DeclareGatedAct(c);
  c.Float("eps", 1e-6).NonNegative();
  c.Bool("add_residual", false).Static().Sizes("residuals", {0, 1});
  c.Require("residuals*n", Compare::kEq, "residuals*k",
            "down_weight must have as many rows as x has columns for add_residual");
  c.Out("y", ir::Elem::Storage(), "..., n");
  c.Structural();
  c.Body([](ops::Body& b) {
    const ir::Value sums = Matmul(Normalised(b), b.In("gate_up_weight"), "k");
    const ir::Value hidden = ActAndMul(b.Word("act"), sums);
    ir::Value down = Matmul(hidden, b.In("down_weight"), "d");
    if (b.Flag("add_residual")) {  // n equals k
      down = down + Slice(b.In("x"), "k", 0, ir::NamedAxis("n"));
    }
    b.Out("y", Round(down, ir::Elem::Storage()));
  });
  return c;
}

}  // namespace tenon::ops::linear
