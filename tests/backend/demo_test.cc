// The form of a row-wise kernel: two operators by hand as the emitter writes them, on every target.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "backend/cpu/targets.h"
#include "base/dtype.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/backend/demo_test.cc"
#include "backend/cpu/foreach_target.h"
#include "backend/cpu/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

HWY_FLATTEN void RmsNormRow(const BF16* x, const float* weight, BF16* y, size_t n, float eps) {
  SumAccumulator squares;
  ForEachBlock(n, [&](auto c) HWY_ATTR {
    const VF v = Load(c, x);
    squares.Add(c, v * v);
  });
  const VF scale = Splat(1.0f / std::sqrt(squares.TotalScalar() / static_cast<float>(n) + eps));
  ForEachChunk(n, [&](auto c) HWY_ATTR { Store(c, Load(c, x) * scale * Load(c, weight), y); });
}

HWY_FLATTEN void SiluAndMulRow(const BF16* gate, const BF16* up, BF16* y, size_t n) {
  ForEachChunk(n, [&](auto c) HWY_ATTR {
    const VF g = Load(c, gate);
    Store(c, g * Sigmoid(g) * Load(c, up), y);
  });
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
namespace {

constexpr TargetTable<void(const BF16*, const float*, BF16*, size_t, float)> kRmsNormRow = {
    HWY_CHOOSE_AVX2(RmsNormRow), HWY_CHOOSE_AVX3(RmsNormRow)};
constexpr TargetTable<void(const BF16*, const BF16*, BF16*, size_t)> kSiluAndMulRow = {
    HWY_CHOOSE_AVX2(SiluAndMulRow), HWY_CHOOSE_AVX3(SiluAndMulRow)};

std::vector<BF16> Waves(size_t n, float frequency) {
  std::vector<BF16> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = ToBF16(3 * std::sin(frequency * float(i + 1)));
  return values;
}

TEST(DemoKernels, RmsNormMatchesDoubleOnEveryTarget) {
  for (size_t n : {1, 7, 64, 96, 128, 200, 4096}) {
    const std::vector<BF16> x = Waves(n, 0.37f);
    const std::vector<float> weight(n, 1.5f);
    double sum = 0;
    for (BF16 v : x) sum += double{ToFloat(v)} * ToFloat(v);
    const double scale = 1 / std::sqrt(sum / double(n) + 1e-6);
    for (Target target : SupportedTargets()) {
      std::vector<BF16> y(n + 1, BF16{0xABCD});
      kRmsNormRow[target](x.data(), weight.data(), y.data(), n, 1e-6f);
      for (size_t i = 0; i < n; ++i) {
        const double expected = ToFloat(x[i]) * scale * 1.5;
        ASSERT_NEAR(ToFloat(y[i]), expected, 8e-3 * std::abs(expected) + 1e-3)
            << TargetName(target) << " n=" << n << " i=" << i;
      }
      EXPECT_EQ(y[n].bits, 0xABCD);
    }
  }
}

TEST(DemoKernels, SiluAndMulMatchesDoubleOnEveryTarget) {
  for (size_t n : {1, 7, 16, 40, 513}) {
    const std::vector<BF16> gate = Waves(n, 0.37f);
    const std::vector<BF16> up = Waves(n, 0.11f);
    for (Target target : SupportedTargets()) {
      std::vector<BF16> y(n + 1, BF16{0xABCD});
      kSiluAndMulRow[target](gate.data(), up.data(), y.data(), n);
      for (size_t i = 0; i < n; ++i) {
        const double g = ToFloat(gate[i]);
        const double expected = g / (1 + std::exp(-g)) * ToFloat(up[i]);
        ASSERT_NEAR(ToFloat(y[i]), expected, 8e-3 * std::abs(expected) + 1e-3)
            << TargetName(target) << " n=" << n << " i=" << i;
      }
      EXPECT_EQ(y[n].bits, 0xABCD);
    }
  }
}

}  // namespace
}  // namespace tenon::cpu
#endif  // HWY_ONCE
