// Matrix products in floating point: C[m, n] = epilogue(sum_k A[m, k] B[n, k]).
//
// Every operand is a view: any strides, neither transposes nor gaps are copied out beforehand. Sums
// are float32; bias, activation, gate and residual work on the sum, which is rounded once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tenon/tensor.h"

namespace tenon::cpu {

enum class Act : uint8_t {
  kNone,
  kSilu,
  kGelu,
  kGeluTanh,
  kGeluQuick,
  kRelu,
  kRelu2,
  kSigmoid,
  kSwigluOai,  // gated only: alpha 1.702, limit 7
};
// "none", "silu" ... as operators spell it.
Act ActOf(std::string_view word);

// What a product makes of one pair of an A row and a B row.
enum class Gate : uint8_t {
  kNone,         // act(sum + bias) + residual
  kHalves,       // B has 2n rows: act(sum of row j) * (sum of row n + j)
  kInterleaved,  // the same with rows 2j and 2j + 1
};

// Strides count elements.
struct MatrixView {
  const void* data = nullptr;
  int64_t row = 0;     // from one row (of A, B, C or the residual) to the next
  int64_t column = 1;  // along k for A and B, along n for C and the residual
  int64_t batch = 0;   // from one product of a batch to the next
};

struct Gemm {
  DType dtype = DType::kF32;  // of A, B, C and the residual: f32, f16 or bf16
  int64_t batch = 1;
  int64_t m = 0;
  int64_t n = 0;  // columns of C
  int64_t k = 0;
  MatrixView a;                // [m, k]
  MatrixView b;                // [n, k], or [2n, k] with a gate
  MatrixView c;                // [m, n]; the memory is written
  MatrixView residual;         // [m, n], or no data
  const void* bias = nullptr;  // one per row of B, or null
  DType bias_dtype = DType::kF32;
  int64_t bias_step = 1;
  Act act = Act::kNone;
  Gate gate = Gate::kNone;
};

// By the first kernel that takes the product. With TENON_LOG=dispatch every answer is printed on
// standard error.
void RunGemm(const Gemm& gemm);

// Why products of bf16 are made in float32 and not with AVX512-BF16, or empty.
std::string WhyNoBf16();

}  // namespace tenon::cpu
