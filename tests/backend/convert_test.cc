// Conversions: all inputs of the small types, a stride through float, tails with guards.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "backend/cpu/targets.h"
#include "base/dtype.h"
#include "tests/backend/guarded_row.h"

#ifndef TENON_TESTS_BACKEND_CONVERT_TEST_ONCE_
#define TENON_TESTS_BACKEND_CONVERT_TEST_ONCE_
namespace tenon::cpu {

// The conversions of one storage type on one target.
template <typename T>
struct Conversions {
  void (*widen)(const T*, float*, size_t);
  void (*narrow)(const float*, T*, size_t);
  void (*narrow_streaming)(const float*, T*, size_t);
  void (*round)(const float*, float*, size_t);
  void (*swap_pairs)(const T*, T*, size_t);
};

}  // namespace tenon::cpu
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/backend/convert_test.cc"
#include "backend/cpu/foreach_target.h"
#include "backend/cpu/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

template <typename T>
void WidenRow(const T* x, float* y, size_t n) {
  ForEachChunk(n, [&](auto c) HWY_ATTR { Store(c, Load(c, x), y); });
}
template <typename T>
void NarrowRow(const float* x, T* y, size_t n) {
  ForEachChunk(n, [&](auto c) HWY_ATTR { Store(c, Load(c, x), y); });
}
template <typename T>
void NarrowRowStreaming(const float* x, T* y, size_t n) {
  const StorePath path(true);
  ForEachChunk(n, [&](auto c) HWY_ATTR { Store(c, Load(c, x), y, path); });
  StreamFence(true);
}
template <typename T>
void RoundRow(const float* x, float* y, size_t n) {
  ForEachChunk(n, [&](auto c) HWY_ATTR { Store(c, RoundTo<T>(Load(c, x)), y); });
}
// Swaps the members of each pair.
template <typename T>
void SwapPairs(const T* x, T* y, size_t pairs) {
  ForEachChunk(pairs, [&](auto c) HWY_ATTR {
    VF even;
    VF odd;
    LoadPairs(c, x, even, odd);
    StorePairs(c, odd, even, y);
  });
}

template <typename T>
Conversions<T> ConversionsOf() {
  return {WidenRow<T>, NarrowRow<T>, NarrowRowStreaming<T>, RoundRow<T>, SwapPairs<T>};
}
Conversions<float> Float() { return ConversionsOf<float>(); }
Conversions<F16> Half() { return ConversionsOf<F16>(); }
Conversions<BF16> Brain() { return ConversionsOf<BF16>(); }
Conversions<F8E4M3> Eight() { return ConversionsOf<F8E4M3>(); }
Conversions<int8_t> Integer() { return ConversionsOf<int8_t>(); }

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
namespace {

template <typename T>
Conversions<T> On(Target target);
template <>
Conversions<float> On(Target target) {
  return TargetTable<Conversions<float>()>{HWY_CHOOSE_AVX2(Float),
                                           HWY_CHOOSE_AVX3(Float)}[target]();
}
template <>
Conversions<F16> On(Target target) {
  return TargetTable<Conversions<F16>()>{HWY_CHOOSE_AVX2(Half), HWY_CHOOSE_AVX3(Half)}[target]();
}
template <>
Conversions<BF16> On(Target target) {
  return TargetTable<Conversions<BF16>()>{HWY_CHOOSE_AVX2(Brain), HWY_CHOOSE_AVX3(Brain)}[target]();
}
template <>
Conversions<F8E4M3> On(Target target) {
  return TargetTable<Conversions<F8E4M3>()>{HWY_CHOOSE_AVX2(Eight),
                                            HWY_CHOOSE_AVX3(Eight)}[target]();
}
template <>
Conversions<int8_t> On(Target target) {
  return TargetTable<Conversions<int8_t>()>{HWY_CHOOSE_AVX2(Integer),
                                            HWY_CHOOSE_AVX3(Integer)}[target]();
}

float Widen(float v) { return v; }
float Widen(int8_t v) { return v; }
float Widen(BF16 v) { return ToFloat(v); }
float Widen(F8E4M3 v) { return ToFloat(v); }
float Widen(F16 v) {  // the conversion instruction makes a NaN quiet
  const float f = ToFloat(v);
  return std::isnan(f) ? std::bit_cast<float>(std::bit_cast<uint32_t>(f) | 0x00400000) : f;
}

template <typename T>
T Narrow(float v) {
  if constexpr (std::is_same_v<T, F16>) {
    return ToF16(v);
  } else if constexpr (std::is_same_v<T, BF16>) {
    return ToBF16(v);
  } else if constexpr (std::is_same_v<T, F8E4M3>) {
    return ToF8E4M3(v);
  } else if constexpr (std::is_same_v<T, int8_t>) {
    return static_cast<int8_t>(RoundTo(v, DType::kI8));
  } else {
    return v;
  }
}

template <typename T>
uint32_t Bits(T v) {
  uint32_t bits = 0;
  std::memcpy(&bits, &v, sizeof(T));
  return bits;
}

// A stride through all floats, and all that lie next to a rounding boundary of the 16-bit types.
const std::vector<float>& Inputs() {
  static const std::vector<float> inputs = [] {
    std::vector<float> x;
    for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 4001) {
      x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    }
    for (uint32_t high = 0; high < 0x10000; ++high) {
      for (uint32_t low : {0u, 1u, 0x0FFFu, 0x1000u, 0x1001u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu}) {
        x.push_back(std::bit_cast<float>(high << 16 | low));
      }
    }
    return x;
  }();
  return inputs;
}

template <typename T>
class ConvertTest : public testing::Test {};
using StorageTypes = testing::Types<float, F16, BF16, F8E4M3, int8_t>;
TYPED_TEST_SUITE(ConvertTest, StorageTypes);

TYPED_TEST(ConvertTest, WidensEveryValue) {
  using T = TypeParam;
  std::vector<T> x;
  if constexpr (sizeof(T) == 4) {
    x = Inputs();
  } else {
    for (uint32_t bits = 0; bits < 1u << 8 * sizeof(T); ++bits) {
      T v;
      std::memcpy(&v, &bits, sizeof(T));
      x.push_back(v);
    }
  }
  for (Target target : SupportedTargets()) {
    std::vector<float> y(x.size());
    On<T>(target).widen(x.data(), y.data(), x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(Bits(y[i]), Bits(Widen(x[i]))) << TargetName(target) << " " << Bits(x[i]);
    }
  }
}

TYPED_TEST(ConvertTest, NarrowsLikeTheScalarConversion) {
  using T = TypeParam;
  const std::vector<float>& x = Inputs();
  for (Target target : SupportedTargets()) {
    std::vector<T> y(x.size());
    std::vector<float> rounded(x.size());
    On<T>(target).narrow(x.data(), y.data(), x.size());
    On<T>(target).round(x.data(), rounded.data(), x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(Bits(y[i]), Bits(Narrow<T>(x[i]))) << TargetName(target) << " " << Bits(x[i]);
      ASSERT_EQ(Bits(rounded[i]), Bits(Widen(Narrow<T>(x[i])))) << "in register, " << Bits(x[i]);
    }
  }
}

// Row lengths around one and two vectors, at both ends of a page, at every misalignment.
TYPED_TEST(ConvertTest, TailsTouchNothingOutsideTheRow) {
  using T = TypeParam;
  for (Target target : SupportedTargets()) {
    for (size_t n = 0; n <= 2 * 16 + 3; ++n) {
      for (bool at_end : {false, true}) {
        GuardedRow<T> x(n, at_end);
        GuardedRow<T> y(n, at_end);
        GuardedRow<float> wide(n, at_end);
        for (size_t i = 0; i < n; ++i) x.row()[i] = Narrow<T>(float(i) - 5);
        On<T>(target).widen(x.row(), wide.row(), n);
        On<T>(target).narrow(wide.row(), y.row(), n);
        for (size_t i = 0; i < n; ++i) {
          ASSERT_EQ(Bits(wide.row()[i]), Bits(Widen(Narrow<T>(float(i) - 5))));
          ASSERT_EQ(Bits(y.row()[i]), Bits(Narrow<T>(float(i) - 5)));
        }
        EXPECT_TRUE(wide.SurroundingsAreIntact()) << TargetName(target) << " n=" << n;
        EXPECT_TRUE(y.SurroundingsAreIntact()) << TargetName(target) << " n=" << n;
      }
    }
  }
}

TYPED_TEST(ConvertTest, StreamingStoresWriteTheSameAtAnyAlignment) {
  using T = TypeParam;
  const std::vector<float> x(Inputs().begin(), Inputs().begin() + 300);
  for (Target target : SupportedTargets()) {
    for (size_t offset = 0; offset < 65; ++offset) {
      const size_t n = 300 - 3 * offset;
      std::vector<T> y(400, T{});
      On<T>(target).narrow_streaming(x.data(), y.data() + offset, n);
      for (size_t i = 0; i < 400; ++i) {
        const bool inside = i >= offset && i < offset + n;
        ASSERT_EQ(Bits(y[i]), Bits(inside ? Narrow<T>(x[i - offset]) : T{})) << offset << " " << i;
      }
    }
  }
}

TYPED_TEST(ConvertTest, PairsAreSplitAndJoined) {
  using T = TypeParam;
  for (Target target : SupportedTargets()) {
    for (size_t pairs = 0; pairs <= 2 * 16 + 3; ++pairs) {
      for (bool at_end : {false, true}) {
        GuardedRow<T> x(2 * pairs, at_end);
        GuardedRow<T> y(2 * pairs, at_end);
        for (size_t i = 0; i < 2 * pairs; ++i) x.row()[i] = Narrow<T>(float(i) - 30);
        On<T>(target).swap_pairs(x.row(), y.row(), pairs);
        for (size_t i = 0; i < 2 * pairs; ++i) {
          ASSERT_EQ(Bits(y.row()[i]), Bits(x.row()[i ^ 1])) << TargetName(target) << " " << pairs;
        }
        EXPECT_TRUE(y.SurroundingsAreIntact()) << TargetName(target) << " pairs=" << pairs;
      }
    }
  }
}

}  // namespace
}  // namespace tenon::cpu
#endif  // HWY_ONCE
