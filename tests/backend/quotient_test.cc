// Quotients stored as int8: what division would give, for every divisor.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "backend/cpu/targets.h"
#include "tests/backend/guarded_row.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/backend/quotient_test.cc"
#include "backend/cpu/foreach_target.h"
#include "backend/cpu/quotient-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

// How many quotients x / d become another integer than by division, for every `step`th mantissa of
// d but the last, and the x whose quotients are nearest to `half`.
HWY_FLATTEN int64_t CountWrongIntegers(float half, int32_t step) {
  constexpr int kNearest = 2;
  constexpr int32_t kMantissas = (1 << 23) - 1;
  const DI di;
  const VI last = hn::Set(di, 0x3F800000 + kMantissas - 1);
  const int32_t stride = step * static_cast<int32_t>(kLanes);
  int64_t wrong = 0;
  for (int32_t first = 0; first < kMantissas; first += stride) {
    const VI lanes = hn::Mul(hn::Iota(di, 0), hn::Set(di, step));
    const VI bits = hn::Min(hn::Add(lanes, hn::Set(di, 0x3F800000 + first)), last);
    const VF d = hn::BitCast(DF(), bits);
    const Divisor divisor(d, false);
    const VI middle = hn::BitCast(di, hn::Mul(Splat(half), d));
    for (int k = -kNearest; k <= kNearest; ++k) {
      const VF x = hn::BitCast(DF(), hn::Add(middle, hn::Set(di, k)));
      const MF differ = hn::Ne(hn::Round(divisor.Quotient(x)), hn::Round(hn::Div(x, d)));
      wrong += static_cast<int64_t>(hn::CountTrue(DF(), differ));
    }
  }
  return wrong;
}

HWY_FLATTEN void DivideRow(const float* x, float d, int8_t* y, size_t n) {
  ForEachChunk(n, [&](auto c) HWY_ATTR { Store(c, Load(c, x) / Splat(d), y); });
}

template <bool staged, class Divide>
HWY_INLINE void Quotients(const float* x, float d, int8_t* y, size_t n, const Divide& divide) {
  const Divisor divisor(Splat(d), false);
  const StorePath path(false);
  const auto dividend = [&](auto c) HWY_ATTR { return Load(c, x); };
  if constexpr (staged) {
    ForEachStagedQuotient(n, divisor, y, path, dividend, divide);
  } else {
    ForEachQuotient(n, divisor, y, path, dividend, divide);
  }
}

HWY_FLATTEN void QuotientRow(const float* x, float d, int8_t* y, size_t n) {
  Quotients<false>(x, d, y, n, [&](auto c, VF v) HWY_ATTR { Store(c, v / Splat(d), y); });
}
HWY_FLATTEN void StagedQuotientRow(const float* x, float d, int8_t* y, size_t n) {
  Quotients<true>(x, d, y, n, [&](auto c, VF v) HWY_ATTR { Store(c, v / Splat(d), y); });
}

// Whether a row of 64 ordinary numbers is stored without a division.
HWY_FLATTEN bool Multiplies(float d) { return Divisor(Splat(d), false).multiplies; }

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
namespace {

using RowFunction = void(const float*, float, int8_t*, size_t);
constexpr TargetTable<int64_t(float, int32_t)> kCountWrongIntegers = {
    HWY_CHOOSE_AVX2(CountWrongIntegers), HWY_CHOOSE_AVX3(CountWrongIntegers)};
constexpr TargetTable<RowFunction> kDivideRow = {HWY_CHOOSE_AVX2(DivideRow),
                                                 HWY_CHOOSE_AVX3(DivideRow)};
constexpr TargetTable<RowFunction> kQuotientRow = {HWY_CHOOSE_AVX2(QuotientRow),
                                                   HWY_CHOOSE_AVX3(QuotientRow)};
constexpr TargetTable<RowFunction> kStagedQuotientRow = {HWY_CHOOSE_AVX2(StagedQuotientRow),
                                                         HWY_CHOOSE_AVX3(StagedQuotientRow)};
constexpr TargetTable<bool(float)> kMultiplies = {HWY_CHOOSE_AVX2(Multiplies),
                                                  HWY_CHOOSE_AVX3(Multiplies)};

// The widest target tries all mantissas, some seconds' work of a sanitised build; the others do the
// same operations.
#if defined(__SANITIZE_ADDRESS__) || !defined(NDEBUG)
constexpr int32_t kStep = 61;
#else
constexpr int32_t kStep = 1;
#endif

TEST(Quotient, IsRoundedLikeTheDivisionForEveryMantissaOfTheDivisor) {
  for (Target target : SupportedTargets()) {
    const int32_t step = target == SupportedTargets().back() ? kStep : 61;
    for (int i = 0; i < 128; ++i) {
      const float half = static_cast<float>(i) + 0.5f;
      EXPECT_EQ(kCountWrongIntegers[target](half, step), 0) << TargetName(target) << " " << half;
    }
  }
}

TEST(Quotient, RowsHoldTheBitsOfTheDivision) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr float kAllOnes = 0x1.fffffep+0f;
  std::vector<float> numbers;
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (int i = 0; i < 517; ++i) numbers.push_back(4 * normal(random));
  std::vector<float> unusual = numbers;
  size_t at = 0;
  for (float v : {0.0f, -0.0f, kInf, -kInf, kNaN, 3e38f, -3e38f, 1e-42f, -1e-42f, 1.0f, 1e12f,
                  -1e12f, 0x1.fffffep+0f, 6.35f, -6.4f}) {
    unusual[at] = v;
    at += 35;
  }
  for (float d : {0.05f, 1.0f, 0.5f, kAllOnes, -0.05f, 1e-30f, 1e-38f, 1e-42f, 3e38f, 0.0f, kInf,
                  kNaN, 0x1.921fb6p-5f}) {
    for (const std::vector<float>& x : {numbers, unusual}) {
      for (size_t n : {0, 1, 7, 8, 16, 31, 63, 64, 65, 128, 200, 517}) {
        GuardedRow<int8_t> expected(n, true);
        GuardedRow<int8_t> got(n, true);
        for (Target target : SupportedTargets()) {
          kDivideRow[target](x.data(), d, expected.row(), n);
          for (const auto& rows : {kQuotientRow, kStagedQuotientRow}) {
            std::memset(got.row(), 0x55, n);
            rows[target](x.data(), d, got.row(), n);
            ASSERT_EQ(std::memcmp(got.row(), expected.row(), n), 0)
                << TargetName(target) << " d=" << d << " n=" << n;
            EXPECT_TRUE(got.SurroundingsAreIntact());
          }
        }
      }
    }
  }
}

TEST(Quotient, OrdinaryScalesAreMultipliedBy) {
  for (Target target : SupportedTargets()) {
    EXPECT_TRUE(kMultiplies[target](0.05f));
    EXPECT_TRUE(kMultiplies[target](1e-10f / 127.0f));
    EXPECT_FALSE(kMultiplies[target](0x1.fffffep-7f));
    EXPECT_FALSE(kMultiplies[target](-0.05f));
  }
}

}  // namespace
}  // namespace tenon::cpu
#endif  // HWY_ONCE
