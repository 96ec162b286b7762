// A kernel as `tenon fuse` compiles it at run time: for one target, without dispatch. Built once
// per target, with the definitions of StaticTargetFlags and its own name in STATIC_KERNEL.
#include "backend/cpu/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

// Sums, exponentials, division and rounding in one row.
HWY_FLATTEN void SigmoidNormRow(const BF16* x, BF16* y, size_t n) {
  SumAccumulator sum;
  ForEachBlock(n, [&](auto c) HWY_ATTR { sum.Add(c, Sigmoid(Load(c, x))); });
  const VF total = sum.Total();
  ForEachChunk(n, [&](auto c) HWY_ATTR { Store(c, Tanh(Load(c, x)) / total, y); });
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

namespace tenon::cpu {

void STATIC_KERNEL(const BF16* x, BF16* y, size_t n);
void STATIC_KERNEL(const BF16* x, BF16* y, size_t n) { HWY_NAMESPACE::SigmoidNormRow(x, y, n); }

}  // namespace tenon::cpu
