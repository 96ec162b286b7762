#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "backend/cpu/targets.h"
#include "base/dtype.h"

namespace tenon::cpu {

void StaticKernelAvx2(const BF16* x, BF16* y, size_t n);
void StaticKernelAvx3(const BF16* x, BF16* y, size_t n);

namespace {

TEST(StaticKernels, ReturnTheSameBitsForEveryTarget) {
  constexpr TargetTable<void(const BF16*, BF16*, size_t)> kKernels = {StaticKernelAvx2,
                                                                      StaticKernelAvx3};
  for (size_t n : {1, 63, 64, 65, 200, 4099}) {
    std::vector<BF16> x(n);
    for (size_t i = 0; i < n; ++i) x[i] = ToBF16(4 * std::sin(0.37f * static_cast<float>(i + 1)));
    std::vector<BF16> first(n);
    kKernels[SupportedTargets().front()](x.data(), first.data(), n);
    for (Target target : SupportedTargets()) {
      std::vector<BF16> y(n);
      kKernels[target](x.data(), y.data(), n);
      for (size_t i = 0; i < n; ++i) ASSERT_EQ(y[i].bits, first[i].bits) << TargetName(target);
    }
    double sum = 0;
    for (BF16 v : x) sum += 1 / (1 + std::exp(-double{ToFloat(v)}));
    EXPECT_NEAR(ToFloat(first[0]), std::tanh(ToFloat(x[0])) / sum, 1e-2 / sum);
  }
}

}  // namespace
}  // namespace tenon::cpu
