#include "ops/quant/quant.h"

namespace tenon::ops::quant {

Quantised PerToken(ir::Value x, DType dtype) {
  const double largest = dtype == DType::kI8 ? 127.0 : 448.0;
  const ir::Value magnitude = Max(Amax(x, x.type().axes.back().name), 1e-10);
  const ir::Value scale = Round(magnitude / largest, DType::kF32);
  return {Cast(x / scale, dtype), scale};
}

}  // namespace tenon::ops::quant
