#include "ops/registry.h"

namespace tenon::ops::norm {

Contract log_softmax_batch_invariant() {
  Contract c("norm", "log_softmax_batch_invariant");
  c.Doc("y = x - max(x) - log(sum(exp(x - max(x)))) along the axis `dim`");
  c.In("x", ir::Elem::Storage(), "..., width");
  c.Int("dim", -1).MovesLast("x");
  c.OptionalScalarType("dtype", {"f32", "f16", "bf16"}).Casts("x");
  c.Out("y", ir::Elem::Storage(), "..., width").Like("x");
  c.Body([](ops::Body& b) {
    const ir::Value x = b.In("x");
    const ir::Value below = x - Reduce(ir::ReduceKind::kMax, x, "width");
    b.Out("y", Round(below - Log(Sum(Exp(below), "width")), ir::Elem::Storage()));
  });
  return c;
}

}  // namespace tenon::ops::norm
