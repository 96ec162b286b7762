#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "ir/eval.h"

namespace tenon::ir {
namespace {

struct FloatWord {
  static double Get(Word w) { return w.f; }
  static Word Make(double v) { return Word{.f = v}; }
};
struct IntWord {
  static int64_t Get(Word w) { return w.i; }
  static Word Make(int64_t v) { return Word{.i = v}; }
};

HostArray ToFloatArray(const HostArray& a) {
  HostArray out(DType::kF32, a.shape);
  for (size_t i = 0; i < a.words.size(); ++i) out.words[i].f = static_cast<double>(a.words[i].i);
  return out;
}

// The arguments as arrays of one kind (integers are widened when floats are wanted) and the loops
// over them; array 0 is the result.
class Operands {
 public:
  Operands(const Evaluation& e, bool as_float) : result(e.Result()) {
    converted_.reserve(e.args.size());
    std::vector<std::vector<int64_t>> strides = {DenseStrides(e.shape)};
    for (size_t i = 0; i < e.args.size(); ++i) {
      const HostArray* array = e.args[i];
      if (as_float && !array->is_float()) {
        converted_.push_back(ToFloatArray(*array));
        array = &converted_.back();
      }
      words.push_back(array->words.data());
      strides.push_back(BroadcastStrides(e.arg_type(i), array->shape, e.node.type.axes));
    }
    for (size_t axis = 0; axis < e.shape.size(); ++axis) {
      std::array<int64_t, LoopNest::kMaxArrays> axis_strides{};
      for (size_t k = 0; k < strides.size(); ++k) axis_strides[k] = strides[k][axis];
      loops.AddAxis(e.shape[axis], axis_strides);
    }
    if (e.shape.empty()) loops.AddAxis(1, {});
  }

  HostArray result;
  std::vector<const Word*> words;
  LoopNest loops;

 private:
  std::vector<HostArray> converted_;
};

// From, To: FloatWord or IntWord. fn takes one value per argument.
template <typename From, typename To, typename Fn>
HostArray Map1(const Evaluation& e, Fn fn) {
  Operands op(e, std::is_same_v<From, FloatWord>);
  const int64_t n = op.loops.inner_size();
  const int64_t s1 = op.loops.inner_stride(1);
  op.loops.ForEachRun([&](const auto& offsets) {
    Word* out = op.result.words.data() + offsets[0];
    const Word* a = op.words[0] + offsets[1];
    for (int64_t i = 0; i < n; ++i) out[i] = To::Make(fn(From::Get(a[i * s1])));
  });
  return std::move(op.result);
}

template <typename From, typename To, typename Fn>
HostArray Map2(const Evaluation& e, Fn fn) {
  Operands op(e, std::is_same_v<From, FloatWord>);
  const int64_t n = op.loops.inner_size();
  const int64_t s1 = op.loops.inner_stride(1);
  const int64_t s2 = op.loops.inner_stride(2);
  op.loops.ForEachRun([&](const auto& offsets) {
    Word* out = op.result.words.data() + offsets[0];
    const Word* a = op.words[0] + offsets[1];
    const Word* b = op.words[1] + offsets[2];
    for (int64_t i = 0; i < n; ++i) {
      out[i] = To::Make(fn(From::Get(a[i * s1]), From::Get(b[i * s2])));
    }
  });
  return std::move(op.result);
}

HostArray EvalFma(const Evaluation& e) {
  Operands op(e, /*as_float=*/true);
  const LoopNest& loops = op.loops;
  loops.ForEachRun([&](const auto& offsets) {
    for (int64_t i = 0; i < loops.inner_size(); ++i) {
      const auto at = [&](size_t k) {
        return op.words[k][offsets[k + 1] + i * loops.inner_stride(k + 1)].f;
      };
      op.result.words[static_cast<size_t>(offsets[0] + i)].f = std::fma(at(0), at(1), at(2));
    }
  });
  return std::move(op.result);
}

// Moves words, so that the chosen element keeps its bits.
HostArray EvalSelect(const Evaluation& e) {
  const HostArray condition = e.arg(0);
  Evaluation choice = e;
  HostArray a;
  HostArray b;
  if (IsFloat(e.dtype)) {
    if (!e.arg(1).is_float()) choice.args[1] = &(a = ToFloatArray(e.arg(1)));
    if (!e.arg(2).is_float()) choice.args[2] = &(b = ToFloatArray(e.arg(2)));
  }
  Operands op(choice, /*as_float=*/false);
  const LoopNest& loops = op.loops;
  loops.ForEachRun([&](const auto& offsets) {
    for (int64_t i = 0; i < loops.inner_size(); ++i) {
      const auto at = [&](size_t k) {
        return op.words[k][offsets[k + 1] + i * loops.inner_stride(k + 1)];
      };
      op.result.words[static_cast<size_t>(offsets[0] + i)] = at(0).i != 0 ? at(1) : at(2);
    }
  });
  return std::move(op.result);
}

double MinOf(double a, double b, bool propagate_nan) {
  if (std::isnan(a)) return propagate_nan ? a : b;
  if (std::isnan(b)) return propagate_nan ? b : a;
  return a < b || (a == b && std::signbit(a)) ? a : b;
}
double MaxOf(double a, double b, bool propagate_nan) {
  if (std::isnan(a)) return propagate_nan ? a : b;
  if (std::isnan(b)) return propagate_nan ? b : a;
  return a > b || (a == b && !std::signbit(a)) ? a : b;
}

int64_t FloorDivide(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return b == 0 ? 0 : static_cast<int64_t>(-static_cast<uint64_t>(a));
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
int64_t FloorModulo(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) -
                              static_cast<uint64_t>(FloorDivide(a, b)) * static_cast<uint64_t>(b));
}
int64_t ShiftLeft(int64_t a, int64_t count) {
  return count < 0 || count > 63 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << count);
}
int64_t ShiftRight(int64_t a, int64_t count) { return a >> std::clamp<int64_t>(count, 0, 63); }

// Two's complement, as the hardware's registers of that width.
void WrapIntegers(HostArray* array) {
  if (array->dtype != DType::kI32) return;
  for (Word& word : array->words) word.i = static_cast<int32_t>(word.i);
}

bool AllIntegers(const Evaluation& e) {
  return std::all_of(e.args.begin(), e.args.end(),
                     [](const HostArray* a) { return !a->is_float(); });
}

HostArray EvalFloat(const Evaluation& e) {
  const auto map1 = [&](auto fn) { return Map1<FloatWord, FloatWord>(e, fn); };
  const auto map2 = [&](auto fn) { return Map2<FloatWord, FloatWord>(e, fn); };
  const bool nan = e.node.propagate_nan;
  switch (e.node.op) {
    case Op::kAdd:
      return map2([](double a, double b) { return a + b; });
    case Op::kSub:
      return map2([](double a, double b) { return a - b; });
    case Op::kMul:
      return map2([](double a, double b) { return a * b; });
    case Op::kDiv:
      return map2([](double a, double b) { return a / b; });
    case Op::kFma:
      return EvalFma(e);
    case Op::kNeg:
      return map1([](double a) { return -a; });
    case Op::kAbs:
      return map1([](double a) { return std::abs(a); });
    case Op::kMin:
      return map2([nan](double a, double b) { return MinOf(a, b, nan); });
    case Op::kMax:
      return map2([nan](double a, double b) { return MaxOf(a, b, nan); });
    case Op::kSqrt:
      return map1([](double a) { return std::sqrt(a); });
    case Op::kRsqrt:
      return map1([](double a) { return 1.0 / std::sqrt(a); });
    case Op::kExp:
      return map1([](double a) { return std::exp(a); });
    case Op::kLog:
      return map1([](double a) { return std::log(a); });
    case Op::kSin:
      return map1([](double a) { return std::sin(a); });
    case Op::kCos:
      return map1([](double a) { return std::cos(a); });
    case Op::kTanh:
      return map1([](double a) { return std::tanh(a); });
    case Op::kErf:
      return map1([](double a) { return std::erf(a); });
    case Op::kSigmoid:
      return map1([](double a) { return 1.0 / (1.0 + std::exp(-a)); });
    case Op::kFloor:
      return map1([](double a) { return std::floor(a); });
    case Op::kRoundInt:
      return map1([](double a) { return std::nearbyint(a); });
    case Op::kFromBits:
      return Map1<IntWord, FloatWord>(
          e, [](int64_t a) { return FromSingleBits(static_cast<int32_t>(a)); });
    default:
      throw InternalError(__FILE__, __LINE__, "not a float operation");
  }
}

HostArray EvalInteger(const Evaluation& e) {
  const auto map1 = [&](auto fn) { return Map1<IntWord, IntWord>(e, fn); };
  const auto map2 = [&](auto fn) { return Map2<IntWord, IntWord>(e, fn); };
  // Overflow wraps: unsigned arithmetic, then WrapIntegers.
  const auto wrapping = [&](auto fn) {
    return map2([fn](int64_t a, int64_t b) {
      return static_cast<int64_t>(fn(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
    });
  };
  switch (e.node.op) {
    case Op::kAdd:
      return wrapping([](uint64_t a, uint64_t b) { return a + b; });
    case Op::kSub:
      return wrapping([](uint64_t a, uint64_t b) { return a - b; });
    case Op::kMul:
      return wrapping([](uint64_t a, uint64_t b) { return a * b; });
    case Op::kNeg:
      return map1([](int64_t a) { return static_cast<int64_t>(-static_cast<uint64_t>(a)); });
    case Op::kAbs:
      return map1(
          [](int64_t a) { return a < 0 ? static_cast<int64_t>(-static_cast<uint64_t>(a)) : a; });
    case Op::kMin:
      return map2([](int64_t a, int64_t b) { return std::min(a, b); });
    case Op::kMax:
      return map2([](int64_t a, int64_t b) { return std::max(a, b); });
    case Op::kIntDiv:
      return map2(FloorDivide);
    case Op::kIntMod:
      return map2(FloorModulo);
    case Op::kBitAnd:
      return map2([](int64_t a, int64_t b) { return a & b; });
    case Op::kBitOr:
      return map2([](int64_t a, int64_t b) { return a | b; });
    case Op::kShiftLeft:
      return map2(ShiftLeft);
    case Op::kShiftRight:
      return map2(ShiftRight);
    case Op::kBitsOf:
      return Map1<FloatWord, IntWord>(e, [](double a) { return int64_t{SingleBits(a)}; });
    default:
      throw InternalError(__FILE__, __LINE__, "not an integer operation");
  }
}

template <typename From>
HostArray Compare(const Evaluation& e) {
  const auto map2 = [&](auto fn) { return Map2<From, IntWord>(e, fn); };
  switch (e.node.op) {
    case Op::kLt:
      return map2([](auto a, auto b) { return a < b; });
    case Op::kLe:
      return map2([](auto a, auto b) { return a <= b; });
    case Op::kEq:
      return map2([](auto a, auto b) { return a == b; });
    case Op::kNe:
      return map2([](auto a, auto b) { return a != b; });
    default:
      throw InternalError(__FILE__, __LINE__, "not a comparison");
  }
}

HostArray EvalLogic(const Evaluation& e) {
  switch (e.node.op) {
    case Op::kAnd:
      return Map2<IntWord, IntWord>(e, [](int64_t a, int64_t b) { return a != 0 && b != 0; });
    case Op::kOr:
      return Map2<IntWord, IntWord>(e, [](int64_t a, int64_t b) { return a != 0 || b != 0; });
    case Op::kNot:
      return Map1<IntWord, IntWord>(e, [](int64_t a) { return a == 0; });
    default:
      return AllIntegers(e) ? Compare<IntWord>(e) : Compare<FloatWord>(e);
  }
}

// The neighbour of a representable value towards zero (or away from it), through its storage bits.
double Neighbour(double value, DType dtype, bool towards_zero) {
  uint32_t bits = 0;
  StoreElement(&bits, dtype, 0, value);
  bits = towards_zero ? bits - 1 : bits + 1;
  return LoadElement(&bits, dtype, 0);
}

double RoundDirected(double v, DType dtype, Rounding rounding) {
  const double nearest = RoundTo(v, dtype);
  if (rounding == Rounding::kNearestEven || std::isnan(v) || std::isinf(v) || nearest == v) {
    return nearest;
  }
  if (std::abs(nearest) > std::abs(v) && (rounding == Rounding::kTowardZero || v > 0)) {
    return Neighbour(nearest, dtype, /*towards_zero=*/true);
  }
  if (rounding == Rounding::kFloor && v < 0 && nearest > v) {
    return Neighbour(std::copysign(nearest, v), dtype, /*towards_zero=*/false);
  }
  return nearest;
}

double RoundSingle(double v) {
  return std::isnan(v) ? v : static_cast<double>(static_cast<float>(v));
}

// Float to integer: NaN gives 0 (true as bool), the rest saturates.
int64_t ToInteger(double v, DType dtype, Rounding rounding) {
  if (dtype == DType::kBool) return v != 0;
  if (std::isnan(v)) return 0;
  if (rounding == Rounding::kTowardZero) v = std::trunc(v);
  if (rounding == Rounding::kFloor) v = std::floor(v);
  v = RoundTo(v, dtype);
  if (v >= 0x1p63) return std::numeric_limits<int64_t>::max();
  if (v < -0x1p63) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(v);
}

int64_t Saturate(int64_t v, DType dtype) {
  if (dtype == DType::kBool) return v != 0;
  if (dtype == DType::kI8) return std::clamp<int64_t>(v, -128, 127);
  if (dtype == DType::kI32) {
    return std::clamp<int64_t>(v, std::numeric_limits<int32_t>::min(),
                               std::numeric_limits<int32_t>::max());
  }
  return v;
}

// f8e4m3 without saturation: beyond the largest value there is only NaN.
double CastFloat(double v, DType dtype, const CastRule& rule) {
  if (dtype == DType::kF8E4M3 && !rule.saturate && std::abs(v) >= 464.0) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return RoundDirected(v, dtype, rule.rounding);
}

HostArray EvalCast(const Evaluation& e) {
  const DType dtype = e.dtype;
  const CastRule rule = e.node.op == Op::kCast ? e.node.cast : CastRule{};
  if (!IsFloat(dtype)) {
    if (!e.arg(0).is_float()) {
      return Map1<IntWord, IntWord>(e, [dtype](int64_t v) { return Saturate(v, dtype); });
    }
    return Map1<FloatWord, IntWord>(e,
                                    [&](double v) { return ToInteger(v, dtype, rule.rounding); });
  }
  if (dtype == DType::kF32 && rule.rounding == Rounding::kNearestEven) {
    return Map1<FloatWord, FloatWord>(e, RoundSingle);
  }
  return Map1<FloatWord, FloatWord>(e, [&](double v) { return CastFloat(v, dtype, rule); });
}

}  // namespace

HostArray EvalElementwise(const Evaluation& e) {
  if (e.node.op == Op::kSelect) return EvalSelect(e);
  if (e.node.op == Op::kCast || e.node.op == Op::kRound) return EvalCast(e);
  if (e.node.op >= Op::kLt && e.node.op <= Op::kNot) return EvalLogic(e);
  if (e.dtype != DType::kBool && !IsFloat(e.dtype)) {
    HostArray result = EvalInteger(e);
    WrapIntegers(&result);
    return result;
  }
  return EvalFloat(e);
}

}  // namespace tenon::ir
