#include "ir/op_table.h"

#include <iterator>

#include "base/error.h"

namespace tenon::ir {
namespace {

constexpr uint32_t kNone = 0;
constexpr uint32_t kReduceFields = kFieldReduce | kFieldPropagateNan | kFieldAxis;
constexpr uint32_t kCallFields = kFieldName | kFieldCall | kFieldResults;

// Flops: 1 for what one vector instruction does; division and square root 4 and functions 16, their
// cost relative to an addition in float32 SIMD code; memory and precision changes are no arithmetic
// except that a conversion is one instruction.
constexpr OpRow kRows[] = {
    {Op::kInput, OpClass::kLeaf, 0, kFieldName | kFieldValue | kFieldOptional, true, 0},
    {Op::kAttr, OpClass::kLeaf, 0, kFieldName, true, 0},
    {Op::kConst, OpClass::kLeaf, 0, kFieldValue, true, 0},
    {Op::kIota, OpClass::kLeaf, 0, kNone, true, 0},
    {Op::kPresent, OpClass::kLeaf, 0, kFieldName, false, 0},
    {Op::kAdd, OpClass::kElementwise, 2, kNone, false, 1},
    {Op::kSub, OpClass::kElementwise, 2, kNone, false, 1},
    {Op::kMul, OpClass::kElementwise, 2, kNone, false, 1},
    {Op::kDiv, OpClass::kElementwise, 2, kNone, false, 4},
    {Op::kFma, OpClass::kElementwise, 3, kNone, false, 2},
    {Op::kNeg, OpClass::kElementwise, 1, kNone, false, 1},
    {Op::kAbs, OpClass::kElementwise, 1, kNone, false, 1},
    {Op::kMin, OpClass::kElementwise, 2, kFieldPropagateNan, false, 1},
    {Op::kMax, OpClass::kElementwise, 2, kFieldPropagateNan, false, 1},
    {Op::kSqrt, OpClass::kElementwise, 1, kNone, false, 4},
    {Op::kRsqrt, OpClass::kElementwise, 1, kNone, false, 8},
    {Op::kExp, OpClass::kElementwise, 1, kNone, false, 16},
    {Op::kLog, OpClass::kElementwise, 1, kNone, false, 16},
    {Op::kSin, OpClass::kElementwise, 1, kNone, false, 16},
    {Op::kCos, OpClass::kElementwise, 1, kNone, false, 16},
    {Op::kTanh, OpClass::kElementwise, 1, kNone, false, 16},
    {Op::kErf, OpClass::kElementwise, 1, kNone, false, 16},
    {Op::kSigmoid, OpClass::kElementwise, 1, kNone, false, 21},
    {Op::kFloor, OpClass::kElementwise, 1, kNone, false, 1},
    {Op::kRoundInt, OpClass::kElementwise, 1, kNone, false, 1},
    {Op::kLt, OpClass::kElementwise, 2, kNone, false, 1},
    {Op::kLe, OpClass::kElementwise, 2, kNone, false, 1},
    {Op::kEq, OpClass::kElementwise, 2, kNone, false, 1},
    {Op::kNe, OpClass::kElementwise, 2, kNone, false, 1},
    {Op::kAnd, OpClass::kElementwise, 2, kNone, false, 1},
    {Op::kOr, OpClass::kElementwise, 2, kNone, false, 1},
    {Op::kNot, OpClass::kElementwise, 1, kNone, false, 1},
    {Op::kSelect, OpClass::kElementwise, 3, kNone, false, 1},
    {Op::kIntDiv, OpClass::kElementwise, 2, kNone, false, 8},
    {Op::kIntMod, OpClass::kElementwise, 2, kNone, false, 8},
    {Op::kBitAnd, OpClass::kElementwise, 2, kNone, false, 1},
    {Op::kBitOr, OpClass::kElementwise, 2, kNone, false, 1},
    {Op::kShiftLeft, OpClass::kElementwise, 2, kNone, false, 1},
    {Op::kShiftRight, OpClass::kElementwise, 2, kNone, false, 1},
    {Op::kBitsOf, OpClass::kElementwise, 1, kNone, false, 0},
    {Op::kFromBits, OpClass::kElementwise, 1, kNone, false, 0},
    {Op::kCast, OpClass::kPrecision, 1, kFieldCast, true, 1},
    {Op::kRound, OpClass::kPrecision, 1, kNone, true, 1},
    {Op::kReduce, OpClass::kReduction, 1, kReduceFields, false, 1},
    {Op::kBroadcast, OpClass::kMovement, 1, kNone, true, 0},
    {Op::kSlice, OpClass::kMovement, 1, kFieldDim | kFieldOffset, true, 0},
    {Op::kConcat, OpClass::kMovement, kAnyArgs, kFieldDim, true, 0},
    {Op::kReshape, OpClass::kMovement, 1, kNone, true, 0},
    {Op::kTranspose, OpClass::kMovement, 1, kNone, true, 0},
    {Op::kCopy, OpClass::kMovement, 1, kNone, false, 0},
    {Op::kGatherRow, OpClass::kRows, 2, kFieldIndexRule, false, 0},
    {Op::kScatterRow, OpClass::kRows, 3, kFieldIndexRule, false, 0},
    {Op::kWriteSlice, OpClass::kMovement, 2, kFieldDim | kFieldOffset, false, 0},
    {Op::kLimitRows, OpClass::kMovement, 2, kFieldDim, false, 0},
    {Op::kMatmul, OpClass::kProduct, 2, kFieldAxis, false, 2},
    {Op::kCall, OpClass::kStructure, kAnyArgs, kCallFields, true, 0},
    {Op::kResult, OpClass::kStructure, 1, kFieldDim, false, 0},
    {Op::kOpaque, OpClass::kStructure, kAnyArgs, kCallFields, true, 0},
};
static_assert(std::size(kRows) == kNumOps);

constexpr bool RowsAreInOrder() {
  for (int i = 0; i < kNumOps; ++i) {
    if (static_cast<int>(kRows[i].op) != i) return false;
  }
  return true;
}
static_assert(RowsAreInOrder());

}  // namespace

const OpRow& RowOf(Op op) {
  TENON_ASSERT(static_cast<int>(op) < kNumOps, "unknown op {}", static_cast<int>(op));
  return kRows[static_cast<int>(op)];
}

std::string SpanText(const Span& span) {
  if (span.file.empty()) return "";
  return fmt::format(" ({}:{}{}{})", span.file, span.line, span.symbol.empty() ? "" : ", ",
                     span.symbol);
}

}  // namespace tenon::ir
