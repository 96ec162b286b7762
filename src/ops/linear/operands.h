// Tensors as the products of backend/cpu/dot.h take them: matrices of rows, copied where their
// strides do not allow it.
#pragma once

#include <optional>
#include <vector>

#include "backend/cpu/dot.h"
#include "ops/dense.h"

namespace tenon::ops::linear {

// A view with all axes but the last one as rows.
class Operand {
 public:
  enum class Strides { kUnit, kUnitOrTransposed };  // what the last axis must have
  explicit Operand(const Tensor& view, Strides strides = Strides::kUnitOrTransposed);

  const cpu::DotOperand& dot() const { return dot_; }
  int64_t rows() const { return rows_; }
  int64_t width() const { return width_; }

 private:
  std::optional<Buffer> copy_;
  cpu::DotOperand dot_;
  int64_t rows_ = 0;
  int64_t width_ = 0;
};

// Where rows of results go. Finish() copies them to the view where they could not be written there.
class Target {
 public:
  explicit Target(const Tensor& view);
  const cpu::DotResult& dot() const { return dot_; }
  void Finish() const;

 private:
  Tensor view_;
  std::optional<Buffer> copy_;
  cpu::DotResult dot_;
};

// In row-major order.
std::vector<float> Floats(const Tensor& view);

}  // namespace tenon::ops::linear
