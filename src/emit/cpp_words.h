// How element-wise ops and numbers are spelled in generated C++.
#pragma once

#include <string>

#include "ir/ir.h"

namespace tenon::emit {

// An operator of Highway's vectors, or a function of Highway or backend/cpu/math-inl.h; null for
// ops that need more than their arguments, which CppValues::Compute handles.
const char* FloatWord(ir::Op op);
const char* IntegerWord(ir::Op op);  // results in 32-bit integers

std::string FloatLiteral(double value);

}  // namespace tenon::emit
