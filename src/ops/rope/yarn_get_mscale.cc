#include <bit>
#include <cmath>

#include "ops/rope/tables.h"

namespace tenon::ops::rope {
namespace {

void Compute(const Resolved& call, std::span<const Tensor> outputs) {
  const double scale = NumberOf(call, "scale");
  const double value = scale <= 1 ? 1.0 : 0.1 * NumberOf(call, "mscale") * std::log(scale) + 1.0;
  *outputs[0].ptr<int64_t>() = std::bit_cast<int64_t>(value);
}

}  // namespace

Contract yarn_get_mscale() {
  Contract c("rope", "yarn_get_mscale");
  c.Doc("1 if scale <= 1, else 0.1 * mscale * ln(scale) + 1");
  c.Float("scale");
  c.Float("mscale", 1.0);
  c.Out("value", DType::kI64, "1");
  c.ResultIs(ResultKind::kFloat);
  c.Function(Compute);
  return c;
}

}  // namespace tenon::ops::rope
