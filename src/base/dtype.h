// Names, sizes and the one run-time-to-type visitor of element types.
#pragma once

#include <optional>
#include <string_view>
#include <type_traits>

#include "base/error.h"
#include "tenon/tensor.h"

namespace tenon {

int64_t ItemSize(DType dtype);

// Short name used in IR text, results and error sentences: f32 f16 bf16 f8e4m3 i8 i32 i64 bool.
std::string_view DTypeName(DType dtype);
std::optional<DType> ParseDType(std::string_view name);  // takes torch's long names, too

// torch's spelling: float32, bfloat16, float8_e4m3fn ...
std::string_view TorchName(DType dtype);

constexpr bool IsFloat(DType dtype) { return dtype <= DType::kF8E4M3; }

template <typename T>
struct TypeTag {
  using type = T;
};

// Calls fn(TypeTag<T>{}) with the C++ type of `dtype`. The only switch on dtype in the project.
template <typename Fn>
decltype(auto) VisitDtype(DType dtype, Fn&& fn) {
  switch (dtype) {
    case DType::kF32:
      return fn(TypeTag<float>{});
    case DType::kF16:
      return fn(TypeTag<F16>{});
    case DType::kBF16:
      return fn(TypeTag<BF16>{});
    case DType::kF8E4M3:
      return fn(TypeTag<F8E4M3>{});
    case DType::kI8:
      return fn(TypeTag<int8_t>{});
    case DType::kI32:
      return fn(TypeTag<int32_t>{});
    case DType::kI64:
      return fn(TypeTag<int64_t>{});
    case DType::kBool:
      return fn(TypeTag<bool>{});
  }
  throw InternalError(__FILE__, __LINE__, "unknown dtype");
}

// Scalar conversions, round to nearest even, NaN stays NaN. The vector forms in backend/cpu return
// the same bits.
float ToFloat(F16 v);
float ToFloat(BF16 v);
float ToFloat(F8E4M3 v);
F16 ToF16(float v);
BF16 ToBF16(float v);
F8E4M3 ToF8E4M3(float v);  // saturates to ±448; NaN stays NaN

// Rounds `v` to the storage type and widens it again (exact for f32; integers round half to even
// and saturate, NaN becomes 0). From double in one rounding: `RoundTo(1.0000000001, kBF16)`.
double RoundTo(double v, DType dtype);

// One element of a tensor of any type, widened exactly; and the rounded store.
double LoadElement(const void* data, DType dtype, int64_t index);
void StoreElement(void* data, DType dtype, int64_t index, double value);

}  // namespace tenon
