#include "base/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace tenon {
namespace {

TEST(DType, NamesRoundTrip) {
  for (const char* name : {"f32", "f16", "bf16", "f8e4m3", "i8", "i32", "i64", "bool"}) {
    const auto dtype = ParseDType(name);
    ASSERT_TRUE(dtype.has_value()) << name;
    EXPECT_EQ(DTypeName(*dtype), name);
    EXPECT_EQ(ParseDType(TorchName(*dtype)), dtype);
  }
  EXPECT_EQ(ParseDType("torch.bfloat16"), DType::kBF16);
  EXPECT_FALSE(ParseDType("f128").has_value());
}

TEST(DType, EveryHalfSurvivesARoundTrip) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const F16 half{static_cast<uint16_t>(bits)};
    const BF16 brain{static_cast<uint16_t>(bits)};
    if (!std::isnan(ToFloat(half))) {
      EXPECT_EQ(ToF16(ToFloat(half)).bits, bits);
    }
    if (!std::isnan(ToFloat(brain))) {
      EXPECT_EQ(ToBF16(ToFloat(brain)).bits, bits);
    }
  }
}

TEST(DType, EveryFp8SurvivesARoundTrip) {
  for (uint32_t bits = 0; bits < 256; ++bits) {
    const F8E4M3 value{static_cast<uint8_t>(bits)};
    EXPECT_EQ(ToF8E4M3(ToFloat(value)).bits, bits);
  }
  EXPECT_EQ(ToFloat(ToF8E4M3(1e9f)), 448.0f);
  EXPECT_EQ(ToFloat(ToF8E4M3(-INFINITY)), -448.0f);
}

TEST(DType, RoundsHalfToEven) {
  EXPECT_EQ(RoundTo(1.0 + 0x1p-8, DType::kBF16), 1.0);
  EXPECT_EQ(RoundTo(1.0 + 3 * 0x1p-8, DType::kBF16), 1.0 + 0x1p-6);
  EXPECT_EQ(RoundTo(65519.9, DType::kF16), 65504.0);
  EXPECT_TRUE(std::isinf(RoundTo(65520.0, DType::kF16)));
  EXPECT_EQ(RoundTo(2.5, DType::kI8), 2.0);
  EXPECT_EQ(RoundTo(300.0, DType::kI8), 127.0);
  EXPECT_EQ(RoundTo(std::nan(""), DType::kI8), 0.0);
  EXPECT_EQ(ToF16(0x1p-25f).bits, 0);  // half of the smallest subnormal: ties to even
  EXPECT_EQ(ToF16(0x1.8p-25f).bits, 1);
}

TEST(DType, NaNStaysNaN) {
  const float nan = std::bit_cast<float>(0x7F800001);  // its payload is lost in 16 bits
  EXPECT_TRUE(std::isnan(ToFloat(ToF16(nan))));
  EXPECT_TRUE(std::isnan(ToFloat(ToBF16(nan))));
  EXPECT_TRUE(std::isnan(ToFloat(ToF8E4M3(nan))));
}

}  // namespace
}  // namespace tenon
