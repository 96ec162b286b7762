#include "ops/linear/scaled_mm.h"

#include <algorithm>
#include <cmath>

#include "base/dtype.h"
#include "base/error.h"
#include "ops/linear/fixed_order.h"

namespace tenon::ops::linear {
namespace {

constexpr int64_t kMaxInt8Width = 131071;  // 128^2 times it is below 2^31

double At(const BoundInput* input, int64_t i) {
  return LoadElement(input->view.data, input->view.dtype, i * input->view.strides[0]);
}

float FloatAt(const BoundInput* input, int64_t i) { return static_cast<float>(At(input, i)); }

// float(acc) * (x_scale * weight_scale) + bias, each step rounded to float32.
float Scaled(const Resolved& call, float acc, float x_scale, int64_t column) {
  const float scaled = acc * (x_scale * FloatAt(call.FindInput("weight_scale"), column));
  const BoundInput* const bias = call.FindInput("bias");
  return bias->present ? scaled + FloatAt(bias, column) : scaled;
}

double Int8Sum(const std::vector<float>& x, const std::vector<float>& w, double x_offset) {
  double sum = 0;
  for (size_t k = 0; k < x.size(); ++k) {
    sum += (static_cast<double>(x[k]) - x_offset) * static_cast<double>(w[k]);
  }
  return sum;
}

std::vector<std::vector<float>> Rows(const Tensor& view) {
  std::vector<std::vector<float>> rows;
  for (int64_t i = 0; i < view.sizes[0]; ++i) rows.push_back(RowValues(view, i));
  return rows;
}

// Rows of `outputs` from `row_of`, which is asked for each row of x once.
template <typename Value>
void FillByRow(const Resolved& call, const Tensor& y, Value value) {
  const Tensor& x = call.inputs[0].view;
  const auto weight = Rows(call.inputs[1].view);
  int64_t current = -1;
  std::vector<float> row_values;
  FillRows(y, [&](int64_t row, int64_t column) {
    if (row != current) row_values = RowValues(x, row);
    current = row;
    return value(row, column, row_values, weight[static_cast<size_t>(column)]);
  });
}

}  // namespace

void CheckInt8Width(const Resolved& call) {
  const int64_t k = call.sizes.at("k");
  TENON_CHECK(k <= kMaxInt8Width, "{}: x must have at most {} columns for exact sums, got {}",
              call.name(), kMaxInt8Width, k);
}

void ComputeInt8ScaledMm(const Resolved& call, std::span<const Tensor> outputs) {
  CheckInt8Width(call);
  const BoundInput* const offset = call.FindInput("x_offset");
  const BoundInput* const weight_sum = call.FindInput("weight_sum");
  FillByRow(call, outputs[0], [&](int64_t row, int64_t column, const auto& x, const auto& weight) {
    const double x_offset = offset->present ? At(offset, row) : 0;
    double sum = Int8Sum(x, weight, weight_sum->present ? 0 : x_offset);
    if (weight_sum->present) sum -= x_offset * At(weight_sum, column);
    return Scaled(call, static_cast<float>(sum), FloatAt(call.FindInput("x_scale"), row), column);
  });
}

void ComputeFp8ScaledMm(const Resolved& call, std::span<const Tensor> outputs) {
  FillByRow(call, outputs[0], [&](int64_t row, int64_t column, const auto& x, const auto& weight) {
    return Scaled(call, FixedOrderDot(x, weight), FloatAt(call.FindInput("x_scale"), row), column);
  });
}

void ComputeFp8BlockwiseScaledMm(const Resolved& call, std::span<const Tensor> outputs) {
  constexpr int64_t kBlock = 128;
  const Tensor& weight_scale = call.FindInput("weight_scale")->view;
  const auto scaled = [&](std::vector<float> values, const std::vector<float>& scales) {
    for (size_t k = 0; k < values.size(); ++k) values[k] *= scales[k / kBlock];
    return values;
  };
  std::vector<std::vector<float>> weight = Rows(call.inputs[1].view);
  for (size_t n = 0; n < weight.size(); ++n) {
    weight[n] = scaled(weight[n], RowValues(weight_scale, static_cast<int64_t>(n) / kBlock));
  }
  int64_t current = -1;
  std::vector<float> x;
  FillRows(outputs[0], [&](int64_t row, int64_t column) {
    if (row != current) {
      x = scaled(RowValues(call.inputs[0].view, row),
                 RowValues(call.FindInput("x_scale")->view, row));
    }
    current = row;
    return FixedOrderDot(x, weight[static_cast<size_t>(column)]);
  });
}

void ComputeW8a8DynamicLinear(const Resolved& call, std::span<const Tensor> outputs) {
  CheckInt8Width(call);
  FillByRow(
      call, outputs[0], [&](int64_t, int64_t column, std::vector<float> x, const auto& weight) {
        float amax = 0;
        for (float value : x) amax = std::max(amax, std::isnan(value) ? 0.0f : std::abs(value));
        const float scale = std::max(amax, 1e-10f) / 127.0f;
        for (float& value : x) {
          value =
              std::isnan(value) ? 0.0f : std::clamp(std::nearbyint(value / scale), -128.0f, 127.0f);
        }
        return Scaled(call, static_cast<float>(Int8Sum(x, weight, 0)), scale, column);
      });
}

}  // namespace tenon::ops::linear
