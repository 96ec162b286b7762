#include "base/dtype.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace tenon {
namespace {

struct DTypeRow {
  DType dtype;
  std::string_view name;
  std::string_view torch_name;
};

constexpr DTypeRow kRows[] = {
    {DType::kF32, "f32", "float32"},    {DType::kF16, "f16", "float16"},
    {DType::kBF16, "bf16", "bfloat16"}, {DType::kF8E4M3, "f8e4m3", "float8_e4m3fn"},
    {DType::kI8, "i8", "int8"},         {DType::kI32, "i32", "int32"},
    {DType::kI64, "i64", "int64"},      {DType::kBool, "bool", "bool"},
};

// A binary floating-point format narrower than float32.
struct Format {
  int mantissa_bits;
  int min_exponent;   // of the smallest normal number
  double max_finite;  // beyond it: infinity, or saturation
  bool saturates;     // e4m3 has no infinity
};

constexpr Format kHalf = {10, -14, 65504.0, false};
constexpr Format kBrain = {7, -126, 0x1.FEp127, false};
constexpr Format kFp8 = {3, -6, 448.0, true};
constexpr Format kSingle = {23, -126, 0x1.FFFFFEp127, false};

// Rounds to nearest even in one step, subnormals included.
double RoundToFormat(double v, const Format& f) {
  // Normal numbers of the format: half of the last kept place is added to the bits (a little less
  // when that place is even) and the rest cut off; a carry moves into the exponent, as it must.
  const uint64_t bits = std::bit_cast<uint64_t>(v);
  const int biased = static_cast<int>(bits >> 52 & 0x7FF) - 1023;
  if (biased >= f.min_exponent && biased < 1024) {
    const int cut = 52 - f.mantissa_bits;
    const uint64_t half = (uint64_t{1} << (cut - 1)) - 1 + (bits >> cut & 1);
    const double r = std::bit_cast<double>((bits + half) >> cut << cut);
    if (std::abs(r) <= f.max_finite) return r;
  }
  if (std::isnan(v) || v == 0.0) return v;
  if (std::isinf(v)) return f.saturates ? std::copysign(f.max_finite, v) : v;
  const int exponent = std::max(std::ilogb(v), f.min_exponent);
  const double step = std::ldexp(1.0, exponent - f.mantissa_bits);
  const double rounded = std::nearbyint(v / step) * step;
  if (std::abs(rounded) <= f.max_finite) return rounded;
  if (f.saturates) return std::copysign(f.max_finite, v);
  return std::copysign(std::numeric_limits<double>::infinity(), v);
}

// The bits of an already rounded value: sign, biased exponent, mantissa.
uint32_t Encode(double v, const Format& f, int exponent_bits) {
  const uint32_t sign = std::signbit(v) ? 1u << (exponent_bits + f.mantissa_bits) : 0;
  const double magnitude = std::abs(v);
  if (magnitude == 0.0) return sign;
  if (std::isinf(v)) return sign | (((1u << exponent_bits) - 1) << f.mantissa_bits);
  const int exponent = std::max(std::ilogb(magnitude), f.min_exponent);
  const auto units =
      static_cast<uint32_t>(std::ldexp(magnitude, f.mantissa_bits - exponent));  // with hidden bit
  const uint32_t biased = units >> f.mantissa_bits ? exponent - f.min_exponent + 1 : 0;
  return sign | (biased << f.mantissa_bits) | (units & ((1u << f.mantissa_bits) - 1));
}

template <typename Int>
double RoundToInt(double v) {
  if (std::isnan(v)) return 0.0;
  const double r = std::nearbyint(v);
  return std::clamp(r, static_cast<double>(std::numeric_limits<Int>::min()),
                    static_cast<double>(std::numeric_limits<Int>::max()));
}

}  // namespace

int64_t ItemSize(DType dtype) {
  return VisitDtype(dtype, [](auto tag) { return int64_t{sizeof(typename decltype(tag)::type)}; });
}

std::string_view DTypeName(DType dtype) { return kRows[static_cast<int>(dtype)].name; }
std::string_view TorchName(DType dtype) { return kRows[static_cast<int>(dtype)].torch_name; }

std::optional<DType> ParseDType(std::string_view name) {
  if (name.starts_with("torch.")) name.remove_prefix(6);
  for (const DTypeRow& row : kRows) {
    if (name == row.name || name == row.torch_name) return row.dtype;
  }
  if (name == "half") return DType::kF16;
  if (name == "float") return DType::kF32;
  return std::nullopt;
}

float ToFloat(BF16 v) { return std::bit_cast<float>(uint32_t{v.bits} << 16); }

float ToFloat(F16 v) {
  const uint32_t sign = uint32_t{v.bits} >> 15 << 31;
  const uint32_t exponent = v.bits >> 10 & 31;
  const uint32_t mantissa = v.bits & 1023;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000 | mantissa << 13);
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

float ToFloat(F8E4M3 v) {
  const bool negative = v.bits >> 7;
  const uint32_t exponent = v.bits >> 3 & 15;
  const uint32_t mantissa = v.bits & 7;
  if (exponent == 15 && mantissa == 7) {
    return std::copysign(std::numeric_limits<float>::quiet_NaN(), negative ? -1.0f : 1.0f);
  }
  const float magnitude = exponent == 0
                              ? static_cast<float>(mantissa) * 0x1p-9f
                              : std::ldexp(1.0f + static_cast<float>(mantissa) / 8, exponent - 7);
  return negative ? -magnitude : magnitude;
}

BF16 ToBF16(float v) {
  const uint32_t bits = std::bit_cast<uint32_t>(v);
  if (std::isnan(v)) return {static_cast<uint16_t>(bits >> 16 | 0x40)};  // keep sign, make quiet
  return {static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16)};
}

F16 ToF16(float v) {
  if (std::isnan(v)) {
    const uint32_t bits = std::bit_cast<uint32_t>(v);
    return {static_cast<uint16_t>((bits >> 16 & 0x8000) | 0x7E00 | (bits >> 13 & 0x1FF))};
  }
  return {static_cast<uint16_t>(Encode(RoundToFormat(v, kHalf), kHalf, 5))};
}

F8E4M3 ToF8E4M3(float v) {
  if (std::isnan(v)) return {static_cast<uint8_t>(std::signbit(v) ? 0xFF : 0x7F)};
  return {static_cast<uint8_t>(Encode(RoundToFormat(v, kFp8), kFp8, 4))};
}

double RoundTo(double v, DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return RoundToFormat(v, kSingle);
    case DType::kF16:
      return RoundToFormat(v, kHalf);
    case DType::kBF16:
      return RoundToFormat(v, kBrain);
    case DType::kF8E4M3:
      return RoundToFormat(v, kFp8);
    case DType::kI8:
      return RoundToInt<int8_t>(v);
    case DType::kI32:
      return RoundToInt<int32_t>(v);
    case DType::kI64:
      return std::isnan(v) ? 0.0 : std::nearbyint(v);
    case DType::kBool:
      return v != 0.0 ? 1.0 : 0.0;
  }
  throw InternalError(__FILE__, __LINE__, "unknown dtype");
}

double LoadElement(const void* data, DType dtype, int64_t index) {
  return VisitDtype(dtype, [&](auto tag) -> double {
    using T = typename decltype(tag)::type;
    T value;
    std::memcpy(&value, static_cast<const char*>(data) + index * int64_t{sizeof(T)}, sizeof(T));
    if constexpr (std::is_class_v<T>) {
      return ToFloat(value);
    } else {
      return static_cast<double>(value);
    }
  });
}

void StoreElement(void* data, DType dtype, int64_t index, double value) {
  const double rounded = RoundTo(value, dtype);
  VisitDtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T stored;
    if constexpr (std::is_same_v<T, F16>) {
      stored = ToF16(static_cast<float>(rounded));
    } else if constexpr (std::is_same_v<T, BF16>) {
      stored = ToBF16(static_cast<float>(rounded));
    } else if constexpr (std::is_same_v<T, F8E4M3>) {
      stored = ToF8E4M3(static_cast<float>(rounded));
    } else {
      stored = static_cast<T>(rounded);
    }
    std::memcpy(static_cast<char*>(data) + index * int64_t{sizeof(T)}, &stored, sizeof(T));
  });
}

Tensor MakeTensor(void* data, DType dtype, std::span<const int64_t> shape) {
  TENON_CHECK(shape.size() <= kMaxRank, "a tensor has at most {} axes, got {}", kMaxRank,
              shape.size());
  Tensor t;
  t.data = data;
  t.dtype = dtype;
  t.rank = static_cast<int32_t>(shape.size());
  int64_t stride = 1;
  for (int axis = t.rank - 1; axis >= 0; --axis) {
    t.sizes[axis] = shape[axis];
    t.strides[axis] = stride;
    stride *= std::max<int64_t>(shape[axis], 1);
  }
  return t;
}

}  // namespace tenon
