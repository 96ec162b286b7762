// Every function against double arithmetic over the whole range of float, and bit equality of the
// targets.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "backend/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/backend/math_test.cc"
#include "backend/cpu/foreach_target.h"
#include "backend/cpu/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

template <VF (*function)(VF)>
void Map(const float* x, float* y, size_t n) {
  ForEachChunk(n, [&](auto c) HWY_ATTR { Store(c, function(Load(c, x)), y); });
}

template <VF (*function)(VF, VF)>
void Map2(const float* a, const float* b, float* y, size_t n) {
  ForEachChunk(n, [&](auto c) HWY_ATTR { Store(c, function(Load(c, a), Load(c, b)), y); });
}

HWY_INLINE VF Pow2CeilOfAbs(VF v) { return Pow2Ceil(hn::Abs(v)); }

// Reached by number, so that one table serves all functions (order of kFunctions below).
void MapNumber(int number, const float* x, float* y, size_t n) {
  using MapFn = void (*)(const float*, float*, size_t);
  static constexpr MapFn kMaps[] = {Map<Exp>, Map<Log>,   Map<Sin>,
                                    Map<Cos>, Map<Tanh>,  Map<Sigmoid>,
                                    Map<Erf>, Map<Rsqrt>, Map<Pow2CeilOfAbs>};
  kMaps[number](x, y, n);
}

void MapMinimum(const float* a, const float* b, float* y, size_t n) {
  Map2<Minimum<VF>>(a, b, y, n);
}
void MapMaximum(const float* a, const float* b, float* y, size_t n) {
  Map2<Maximum<VF>>(a, b, y, n);
}
void MapBounds(const float* x, float* y, size_t n) {
  ForEachChunk(n, [&](auto c) HWY_ATTR {
    Store(c, BoundAbove(BoundBelow(Load(c, x), Splat(-7.0f)), Splat(7.0f)), y);
  });
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
namespace {

constexpr TargetTable<void(int, const float*, float*, size_t)> kMapNumber = {
    HWY_CHOOSE_AVX2(MapNumber), HWY_CHOOSE_AVX3(MapNumber)};
using Binary = TargetTable<void(const float*, const float*, float*, size_t)>;
constexpr Binary kMinimum = {HWY_CHOOSE_AVX2(MapMinimum), HWY_CHOOSE_AVX3(MapMinimum)};
constexpr Binary kMaximum = {HWY_CHOOSE_AVX2(MapMaximum), HWY_CHOOSE_AVX3(MapMaximum)};
constexpr TargetTable<void(const float*, float*, size_t)> kBounds = {HWY_CHOOSE_AVX2(MapBounds),
                                                                     HWY_CHOOSE_AVX3(MapBounds)};

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

double Pow2CeilReference(double v) {
  v = std::abs(v);
  if (!(v > 0) || std::isinf(v)) return v;
  return std::max(std::exp2(std::ceil(std::log2(v))), 0x1p-126);
}

struct Function {
  const char* name;
  int number;
  double (*reference)(double);
  double max_ulp;
  double least;  // results below it may be anything down to 0
};

constexpr Function kFunctions[] = {
    {"Exp", 0, [](double x) { return std::exp(x); }, 1.0, 0},
    {"Log", 1, [](double x) { return std::log(x); }, 0.9, 0},
    {"Sin", 2, [](double x) { return std::sin(x); }, 0.6, 0},
    {"Cos", 3, [](double x) { return std::cos(x); }, 0.6, 0},
    {"Tanh", 4, [](double x) { return std::tanh(x); }, 2.6, 0},
    {"Sigmoid", 5, [](double x) { return 1 / (1 + std::exp(-x)); }, 2.0, 0x1p-126},
    {"Erf", 6, [](double x) { return std::erf(x); }, 1.0, 0},
    {"Rsqrt", 7, [](double x) { return 1 / std::sqrt(x); }, 1.5, 0},
    {"Pow2Ceil", 8, Pow2CeilReference, 0.0, 0},
};

float Ulp(double v) {
  const int exponent = std::max(std::ilogb(v), -126);
  return std::ldexp(1.0f, exponent - 23);
}

// Distance in units of the last place; Inf and NaN must agree.
double ErrorInUlp(float got, double expected, double least) {
  if (std::isnan(expected)) return std::isnan(got) ? 0 : 1e9;
  if (std::abs(expected) >= 0x1.FFFFFFp127)
    return double{got} == std::copysign(kInf, expected) ? 0 : 1e9;
  if (std::isnan(got) || std::isinf(got)) return 1e9;
  if (std::abs(expected) < least) return std::abs(got) <= least ? 0 : 1e9;
  if (expected == 0) return got == 0 ? 0 : 1e9;
  return std::abs(got - expected) / Ulp(expected);
}

// Every `stride`-th float by its bits, then the neighbourhoods of the interesting ones.
std::vector<float> Inputs(uint64_t stride) {
  std::vector<float> x;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += stride) {
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  for (float centre : {0.0f, 1.0f, 0.70710678f, 1.41421356f, 4.0f, 10.0f, 80.0f, 87.33654f,
                       88.37626f, 88.72284f, 89.0f, 103.97208f, 104.0f, 0x1p40f, 0x1p-126f, kInf}) {
    const auto bits = static_cast<int64_t>(std::bit_cast<uint32_t>(centre));
    for (int64_t b = std::max<int64_t>(bits - 300, 0); b < bits + 300; ++b) {
      x.push_back(std::bit_cast<float>(static_cast<uint32_t>(b)));
      x.push_back(-x.back());
    }
  }
  for (int i = -120 * 64; i <= 120 * 64; ++i) x.push_back(float(i) / 64);
  return x;
}

class MathTest : public testing::TestWithParam<Function> {};

TEST_P(MathTest, StaysWithinItsErrorAndIsTheSameOnEveryTarget) {
  const Function& f = GetParam();
  static const std::vector<float> x = Inputs(4001);  // prime: meets every low bit pattern
  std::vector<float> first;
  for (Target target : SupportedTargets()) {
    std::vector<float> y(x.size());
    kMapNumber[target](f.number, x.data(), y.data(), x.size());
    double worst = 0;
    float worst_x = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double error = ErrorInUlp(y[i], f.reference(x[i]), f.least);
      if (error > worst) {
        worst = error;
        worst_x = x[i];
      }
    }
    EXPECT_LE(worst, f.max_ulp) << f.name << " on " << TargetName(target) << " at " << worst_x;
    RecordProperty(std::string(TargetName(target)), std::to_string(worst));
    if (first.empty()) first = y;
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(y[i]), std::bit_cast<uint32_t>(first[i]))
          << f.name << "(" << x[i] << ") on " << TargetName(target);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, MathTest, testing::ValuesIn(kFunctions),
                         [](const auto& test) { return test.param.name; });

float Apply(int number, float x, Target target) {
  float y;
  kMapNumber[target](number, &x, &y, 1);
  return y;
}

TEST(MathSpecialValues, AreExact) {
  for (Target target : SupportedTargets()) {
    for (const Function& f : kFunctions) EXPECT_TRUE(std::isnan(Apply(f.number, kNaN, target)));
    EXPECT_EQ(Apply(0, 200, target), kInf);
    EXPECT_EQ(Apply(0, -200, target), 0);
    EXPECT_EQ(Apply(0, 0, target), 1);
    EXPECT_EQ(Apply(1, 0, target), -kInf);
    EXPECT_EQ(Apply(1, 1, target), 0);
    EXPECT_TRUE(std::isnan(Apply(1, -1, target)));
    EXPECT_TRUE(std::isnan(Apply(2, kInf, target)));
    EXPECT_TRUE(std::signbit(Apply(2, -0.0f, target)));
    EXPECT_EQ(Apply(3, 0, target), 1);
    EXPECT_TRUE(std::signbit(Apply(4, -0.0f, target)));
    EXPECT_EQ(Apply(4, -kInf, target), -1);
    EXPECT_EQ(Apply(5, -kInf, target), 0);
    EXPECT_EQ(Apply(5, kInf, target), 1);
    EXPECT_EQ(Apply(5, 0, target), 0.5f);
    EXPECT_EQ(-3e38f * Apply(5, -3e38f, target), 0);
    EXPECT_EQ(3e38f * Apply(5, 3e38f, target), 3e38f);
    EXPECT_EQ(Apply(6, kInf, target), 1);
    EXPECT_TRUE(std::signbit(Apply(6, -0.0f, target)));
  }
}

TEST(MinimumAndMaximum, PropagateNaNAndOrderZeros) {
  const std::vector<float> values = {0.0f,   -0.0f, 1.0f,  -1.0f, 3e38f,
                                     -3e38f, kInf,  -kInf, kNaN,  -kNaN};
  for (Target target : SupportedTargets()) {
    for (float a : values) {
      for (float b : values) {
        float low;
        float high;
        kMinimum[target](&a, &b, &low, 1);
        kMaximum[target](&a, &b, &high, 1);
        if (std::isnan(a) || std::isnan(b)) {
          EXPECT_TRUE(std::isnan(low) && std::isnan(high)) << a << " " << b;
          continue;
        }
        const bool a_is_less = a < b || (a == b && std::signbit(a));
        EXPECT_EQ(std::bit_cast<uint32_t>(low), std::bit_cast<uint32_t>(a_is_less ? a : b));
        EXPECT_EQ(std::bit_cast<uint32_t>(high), std::bit_cast<uint32_t>(a_is_less ? b : a));
      }
    }
  }
}

TEST(Bounds, ClampAndPassNaN) {
  for (Target target : SupportedTargets()) {
    const std::vector<float> x = {-kInf, -8, -7, -0.0f, 3, 7, 100, kInf, kNaN};
    const std::vector<float> expected = {-7, -7, -7, -0.0f, 3, 7, 7, 7};
    std::vector<float> y(x.size());
    kBounds[target](x.data(), y.data(), x.size());
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(y[i], expected[i]);
    EXPECT_TRUE(std::isnan(y.back()));
  }
}

}  // namespace
}  // namespace tenon::cpu
#endif  // HWY_ONCE
