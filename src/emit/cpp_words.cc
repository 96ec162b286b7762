#include "emit/cpp_words.h"

#include <cmath>
#include <span>

#include "base/error.h"

namespace tenon::emit {

using ir::Op;

namespace {

struct OpWord {
  Op op;
  const char* function;
};
constexpr OpWord kFloatWords[] = {
    {Op::kAdd, "+"},           {Op::kSub, "-"},
    {Op::kMul, "*"},           {Op::kDiv, "/"},
    {Op::kFma, "hn::MulAdd"},  {Op::kNeg, "hn::Neg"},
    {Op::kAbs, "hn::Abs"},     {Op::kSqrt, "hn::Sqrt"},
    {Op::kRsqrt, "Rsqrt"},     {Op::kExp, "Exp"},
    {Op::kLog, "Log"},         {Op::kSin, "Sin"},
    {Op::kCos, "Cos"},         {Op::kTanh, "Tanh"},
    {Op::kErf, "Erf"},         {Op::kSigmoid, "Sigmoid"},
    {Op::kFloor, "hn::Floor"}, {Op::kRoundInt, "hn::Round"},
    {Op::kMin, "Minimum"},     {Op::kMax, "Maximum"},
    {Op::kLt, "hn::Lt"},       {Op::kLe, "hn::Le"},
    {Op::kEq, "hn::Eq"},       {Op::kNe, "hn::Ne"},
    {Op::kAnd, "hn::And"},     {Op::kOr, "hn::Or"},
    {Op::kNot, "hn::Not"},     {Op::kFromBits, "FromBits"},
};
constexpr OpWord kIntegerWords[] = {
    {Op::kAdd, "hn::Add"},    {Op::kSub, "hn::Sub"},  {Op::kMul, "hn::Mul"},
    {Op::kBitAnd, "hn::And"}, {Op::kBitOr, "hn::Or"}, {Op::kBitsOf, "BitsOf"},
};

const char* Find(std::span<const OpWord> words, Op op) {
  for (const OpWord& word : words) {
    if (word.op == op) return word.function;
  }
  return nullptr;
}

}  // namespace

const char* FloatWord(Op op) { return Find(kFloatWords, op); }
const char* IntegerWord(Op op) { return Find(kIntegerWords, op); }

std::string FloatLiteral(double value) {
  const float f = static_cast<float>(value);
  if (std::isinf(f)) {
    return fmt::format("{}std::numeric_limits<float>::infinity()", f < 0 ? "-" : "");
  }
  if (std::isnan(f)) return "std::numeric_limits<float>::quiet_NaN()";
  std::string text = fmt::format("{}", f);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "f";
}

}  // namespace tenon::emit
