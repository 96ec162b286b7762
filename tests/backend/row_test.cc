// Reductions: the order of a sum is that of the scalar model, whatever the target and the tail.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "backend/cpu/targets.h"
#include "base/dtype.h"
#include "tests/backend/guarded_row.h"

#ifndef TENON_TESTS_BACKEND_ROW_TEST_ONCE_
#define TENON_TESTS_BACKEND_ROW_TEST_ONCE_
namespace tenon::cpu {

struct Reductions {
  float sum;
  float max;
  float min;
  float amax;
};

}  // namespace tenon::cpu
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/backend/row_test.cc"
#include "backend/cpu/foreach_target.h"
#include "backend/cpu/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

// All four in one pass; 1 is added and taken away, so that lanes beyond the row hold no zeros.
template <typename T>
HWY_INLINE Reductions ReduceRow(const T* x, size_t n) {
  SumAccumulator sum;
  MaxAccumulator max;
  MinAccumulator min;
  AmaxAccumulator amax;
  ForEachBlock(n, [&](auto c) HWY_ATTR {
    const VF v = Load(c, x);
    sum.Add(c, v * Splat(3.0f) + Splat(1.0f));
    max.Add(c, v + Splat(1.0f));
    min.Add(c, v - Splat(1.0f));
    amax.Add(c, v + Splat(1.0f));
  });
  return {sum.TotalScalar(), max.TotalScalar(), min.TotalScalar(), amax.TotalScalar()};
}

HWY_FLATTEN Reductions ReduceFloats(const float* x, size_t n) { return ReduceRow(x, n); }
HWY_FLATTEN Reductions ReduceBrains(const BF16* x, size_t n) { return ReduceRow(x, n); }

HWY_FLATTEN void CopyThroughScratch(const float* x, float* y, size_t n) {
  float* row = ScratchRow(0, n);
  ForEachBlock(n, [&](auto c) HWY_ATTR { Store(c, Load(c, x), row); });
  ForEachChunk(n, [&](auto c) HWY_ATTR { Store(c, Load(c, row), y); });
}

HWY_FLATTEN void CopyInStages(const float* x, float* y, size_t n) {
  ForEachStaged(
      n, [&](auto c) HWY_ATTR { return Load(c, x) + Splat(1.0f); },
      [&](auto c, VF staged) HWY_ATTR { Store(c, staged * Splat(2.0f), y); });
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
namespace {

constexpr TargetTable<Reductions(const float*, size_t)> kReduceFloats = {
    HWY_CHOOSE_AVX2(ReduceFloats), HWY_CHOOSE_AVX3(ReduceFloats)};
constexpr TargetTable<Reductions(const BF16*, size_t)> kReduceBrains = {
    HWY_CHOOSE_AVX2(ReduceBrains), HWY_CHOOSE_AVX3(ReduceBrains)};
constexpr TargetTable<void(const float*, float*, size_t)> kCopyThroughScratch = {
    HWY_CHOOSE_AVX2(CopyThroughScratch), HWY_CHOOSE_AVX3(CopyThroughScratch)};

constexpr TargetTable<void(const float*, float*, size_t)> kCopyInStages = {
    HWY_CHOOSE_AVX2(CopyInStages), HWY_CHOOSE_AVX3(CopyInStages)};

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

float ScalarSum(const std::vector<float>& terms) {
  std::array<float, 64> lanes{};
  for (size_t i = 0; i < terms.size(); ++i) lanes[i % 64] += terms[i];
  for (size_t half = 32; half != 0; half /= 2) {
    for (size_t j = 0; j < half; ++j) lanes[j] += lanes[j + half];
  }
  return lanes[0];
}

Reductions Model(const std::vector<float>& x) {
  Reductions r = {0, -kInf, kInf, 0};
  std::vector<float> terms;
  for (float v : x) {
    terms.push_back(v * 3.0f + 1.0f);
    r.max = std::max(r.max, v + 1.0f);
    r.min = std::min(r.min, v - 1.0f);
    r.amax = std::max(r.amax, std::abs(v + 1.0f));
  }
  r.sum = ScalarSum(terms);
  return r;
}

std::vector<float> Noise(size_t n) {
  std::mt19937 random(n);
  std::vector<float> x(n);
  for (float& v : x) {
    v = ToFloat(ToBF16(std::ldexp(float(random() % 2000) - 1000, int(random() % 20) - 10)));
  }
  return x;
}

uint32_t Bits(float v) { return std::bit_cast<uint32_t>(v); }

void ExpectSame(const Reductions& got, const Reductions& expected, size_t n, Target target) {
  EXPECT_EQ(Bits(got.sum), Bits(expected.sum)) << TargetName(target) << " n=" << n;
  EXPECT_EQ(Bits(got.max), Bits(expected.max)) << TargetName(target) << " n=" << n;
  EXPECT_EQ(Bits(got.min), Bits(expected.min)) << TargetName(target) << " n=" << n;
  EXPECT_EQ(Bits(got.amax), Bits(expected.amax)) << TargetName(target) << " n=" << n;
}

TEST(Reductions, FollowTheScalarModelForEveryLength) {
  std::vector<size_t> lengths;
  for (size_t n = 0; n <= 2 * 64 + 3; ++n) lengths.push_back(n);
  for (size_t n : {192, 255, 256, 2880, 4096, 7168, 65536}) lengths.push_back(n);
  for (size_t n : lengths) {
    const std::vector<float> x = Noise(n);
    const Reductions expected = Model(x);
    GuardedRow<float> floats(n, true);
    GuardedRow<BF16> brains(n, true);
    for (size_t i = 0; i < n; ++i) {
      floats.row()[i] = x[i];
      brains.row()[i] = ToBF16(x[i]);
    }
    for (Target target : SupportedTargets()) {
      ExpectSame(kReduceFloats[target](floats.row(), n), expected, n, target);
      ExpectSame(kReduceBrains[target](brains.row(), n), expected, n, target);
    }
  }
}

TEST(Reductions, NaNPropagatesExceptThroughAmax) {
  for (size_t n : {1, 63, 64, 130}) {
    for (size_t at : {size_t{0}, n / 2, n - 1}) {
      std::vector<float> x(n, -2.0f);
      x[at] = kNaN;
      for (Target target : SupportedTargets()) {
        const Reductions r = kReduceFloats[target](x.data(), n);
        EXPECT_TRUE(std::isnan(r.sum) && std::isnan(r.max) && std::isnan(r.min));
        EXPECT_EQ(r.amax, n == 1 ? 0.0f : 1.0f);
      }
    }
  }
}

TEST(ScratchRow, KeepsARowBetweenPasses) {
  for (size_t n : {5, 4097, 100}) {
    const std::vector<float> x = Noise(n);
    for (Target target : SupportedTargets()) {
      std::vector<float> y(n);
      kCopyThroughScratch[target](x.data(), y.data(), n);
      EXPECT_EQ(x, y);
    }
  }
  EXPECT_EQ(reinterpret_cast<uintptr_t>(ScratchRow(1, 7)) % kScratchAlignment, 0u);
  EXPECT_NE(ScratchRow(0, 8), ScratchRow(1, 8));
}

TEST(ForEachStaged, VisitsEveryElementOfEveryLength) {
  std::vector<size_t> lengths = {1000, 4096, 4099};
  for (size_t n = 0; n <= 2 * 128 + 17; ++n) lengths.push_back(n);
  for (size_t n : lengths) {
    const std::vector<float> noise = Noise(n);
    GuardedRow<float> x(n, true);
    GuardedRow<float> y(n, true);
    for (Target target : SupportedTargets()) {
      for (size_t i = 0; i < n; ++i) x.row()[i] = noise[i];
      kCopyInStages[target](x.row(), y.row(), n);
      for (size_t i = 0; i < n; ++i) EXPECT_EQ(y.row()[i], (noise[i] + 1.0f) * 2.0f) << n;
    }
  }
}

}  // namespace
}  // namespace tenon::cpu
#endif  // HWY_ONCE
