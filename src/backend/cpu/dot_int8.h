// Products of int8 rows, exact: acc[m, n] = sum over k of (x[m, k] - x_offset[m]) * w[n, k], then
// the epilogue of dot.h on float(acc).
#pragma once

#include <cstdint>

#include "backend/cpu/dot.h"

namespace tenon::cpu {

// The sum of so many products of -128 and -128 is an int32.
inline constexpr int64_t kMaxInt8Products = 131071;

struct Int8Rows {
  const int8_t* data = nullptr;  // unit stride along k
  int64_t row_stride = 0;
};

// What x_offset subtracts: x_offset[m] * w_sum[n]. Null: nothing.
struct Int8Offset {
  const int32_t* x_offset = nullptr;  // [m]
  const int32_t* w_sum = nullptr;     // [n]
};

void Int8Product(int64_t m, int64_t n, int64_t k, const Int8Rows& x, const Int8Rows& w,
                 const Int8Offset& offset, const DotEpilogue& epilogue, const DotResult& y);

}  // namespace tenon::cpu
