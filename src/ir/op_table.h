// What every op is, in one table: the verifier, the interpreter, the printer, the cost model and
// the passes read it.
#pragma once

#include <span>
#include <string_view>

#include "ir/ir.h"

namespace tenon::ir {

enum class OpClass : uint8_t {
  kLeaf,         // no arguments
  kElementwise,  // the result at a position depends on the arguments at that position
  kPrecision,    // element-wise, too: cast and round
  kReduction,
  kMovement,  // keeps element type and bits
  kRows,      // reads or writes rows through an index
  kProduct,
  kStructure,  // calls, their results, what was not understood
};

// The fields of a node that an op uses besides args and type; the others keep their defaults.
enum NodeField : uint32_t {
  kFieldName = 1u << 0,
  kFieldValue = 1u << 1,
  kFieldOptional = 1u << 2,
  kFieldReduce = 1u << 3,
  kFieldPropagateNan = 1u << 4,
  kFieldAxis = 1u << 5,
  kFieldDim = 1u << 6,
  kFieldOffset = 1u << 7,
  kFieldCast = 1u << 8,
  kFieldIndexRule = 1u << 9,
  kFieldCall = 1u << 10,
  kFieldResults = 1u << 11,
};

inline constexpr int kAnyArgs = -1;

struct OpRow {
  Op op;
  OpClass op_class;
  int num_args;        // kAnyArgs: at least one for concat, any number for calls
  uint32_t fields;     // of NodeField
  bool declares_type;  // the type is not determined by the arguments (all of it, or its axes)
  double flops;        // per element of the result; see cost.h
};

const OpRow& RowOf(Op op);

inline bool IsElementwise(Op op) {
  const OpClass op_class = RowOf(op).op_class;
  return op_class == OpClass::kElementwise || op_class == OpClass::kPrecision;
}
inline bool IsMovement(Op op) { return RowOf(op).op_class == OpClass::kMovement; }

// " (file:line, symbol)", or nothing when the span is unknown.
std::string SpanText(const Span& span);

}  // namespace tenon::ir
