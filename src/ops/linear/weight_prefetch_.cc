#include "ops/registry.h"
#include "ops/resolve.h"

namespace tenon::ops::linear {
namespace {

void Nothing(const Resolved&, std::span<const Tensor>) {}

}  // namespace

Contract weight_prefetch_() {
  Contract c("linear", "weight_prefetch_");
  c.Doc(
      "a hint: max_size bytes of weight from offset on (0: all that follow) will be read soon; "
      "dependency keeps its values, and orders the hint behind what produced it");
  c.In("dependency", ir::Elem::Storage(), "...").AnyDType().OrFloat8().MayBeEmpty();
  c.In("weight", ir::Elem::Index(),
       "w0 | w0, w1 | w0, w1, w2 | w0, w1, w2, w3 | w0, w1, w2, w3, w4")
      .AnyDType()
      .MayBeEmpty();
  constexpr int64_t kMost = int64_t{1} << 48;  // more than any memory
  c.Int("max_size", 0).Between(0, kMost);
  c.Int("offset", 0).Between(0, kMost);
  c.Out("out", ir::Elem::Storage(), "...");
  c.InPlaceOnly({{"out", "dependency"}});
  c.Function(Nothing);
  return c;
}

}  // namespace tenon::ops::linear
