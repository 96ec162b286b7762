// The generic driver over registry x kernel x target x dtype x shape.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backend/cpu/targets.h"
#include "ops/case.h"

namespace tenon::ops {

inline constexpr DType kStorages[] = {DType::kF32, DType::kF16, DType::kBF16};

// Shapes around the edges of vectors and blocks, with every combination of static parameters, with
// no optional tensor and with all of them. Leading axes, dtypes, layout and fill are the caller's.
std::vector<CaseSpec> EdgeCases(const std::string& form);
// One middle-sized shape per combination.
std::vector<CaseSpec> PlainCases(const std::string& form);
// The lines of bench/shapes/*.txt for this form.
std::vector<CaseSpec> ModelCases(const std::string& form);

// The forms with generated kernels.
std::vector<std::string> GeneratedNames();

// The bits of everything that a call writes, in row-major order of each tensor, after a run of the
// generated kernel; expects that nothing else was written.
using Bits = std::vector<std::vector<uint8_t>>;
Bits RunBits(Case& test, cpu::Target target = cpu::ChosenTarget());
Bits RunBits(const CaseSpec& spec);
std::vector<uint8_t> BitsOf(const Tensor& tensor);

// `bits` with one pattern for every NaN. Which of two NaNs an addition or a product returns depends
// on the order of its operands, which is the compiler's choice in every function: kernels of
// different targets, or a fused kernel and a chain, agree on the places of NaN alone.
std::vector<uint8_t> WithOneNan(std::vector<uint8_t> bits, DType dtype);
Bits WithOneNan(Bits bits, const Case& test);

// Expects that the outputs are those of the reference within the tolerances of their types, NaN and
// infinities in the same places. The kernel has run.
void ExpectMatchesReference(const Case& test);

class KernelTest : public ::testing::TestWithParam<std::string> {
 protected:
  const OperatorForm& form() const { return FindOperator(GetParam()); }
  bool in_place() const { return form().in_place != nullptr; }
};

inline std::string FormName(const ::testing::TestParamInfo<std::string>& test) {
  return "op_" + test.param;  // ctest -R op.rms_norm
}

}  // namespace tenon::ops
