#include "ops/registry.h"
#include "ops/resolve.h"

namespace tenon::ops::linear {
namespace {

void Nothing(const Resolved&, std::span<const Tensor>) {}

}  // namespace

Contract weight_prefetch_wait_() {
  Contract c("linear", "weight_prefetch_wait_");
  c.Doc("waits for every weight_prefetch_ before it; x keeps its values, and orders the wait");
  c.In("x", ir::Elem::Storage(), "...").AnyDType().OrFloat8().MayBeEmpty();
  c.Out("out", ir::Elem::Storage(), "...");
  c.InPlaceOnly({{"out", "x"}});
  c.Function(Nothing);
  return c;
}

}  // namespace tenon::ops::linear
