// The sums of backend/cpu/dot.h as scalar code: the reference of operators whose order of additions
// is part of their contract. Bit for bit what the kernels return.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "ops/contract.h"
#include "tenon/tensor.h"

namespace tenon::ops::linear {

// The sum of a[i] * b[i] in the fixed order.
float FixedOrderDot(std::span<const float> a, std::span<const float> b);

// Row `row` of the last axis of a view with any leading axes, as float32.
std::vector<float> RowValues(const Tensor& view, int64_t row);

// Calls set(row, column) for every element of `y`, all leading axes being rows, and stores what it
// returns.
void FillRows(const Tensor& y, const std::function<float(int64_t row, int64_t column)>& value);

// What several contracts declare alike.
void DeclareOutDType(Contract& c);  // out_dtype, which is T
void DeclareScale(Contract& c, std::string_view name, std::string_view rows);  // one, or one a row

}  // namespace tenon::ops::linear
