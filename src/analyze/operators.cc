// Arithmetic, comparison and membership of concrete, symbolic, unknown and tensor values.
#include <fmt/format.h>

#include <cmath>

#include "analyze/interpreter.h"
#include "analyze/tensor_functions.h"
#include "base/error.h"

namespace tenon::analyze {
namespace {

// The special method of an operator: add -> "__add__".
std::string_view MethodName(Operator op) {
  static constexpr std::string_view kNames[] = {
      "add", "sub",      "mul",      "truediv", "floordiv", "mod", "pow", "matmul", "and",
      "or",  "xor",      "lshift",   "rshift",  "eq",       "ne",  "lt",  "le",     "gt",
      "ge",  "contains", "contains", "is",      "is_not",   "neg", "pos", "invert"};
  return kNames[static_cast<size_t>(op)];
}

Value Native(const Value& value) {
  const auto* instance = value.As<InstanceObject>();
  return instance != nullptr && instance->native.Defined() ? instance->native : value;
}

bool IsUnknown(const Value& value) {
  return value.Is(ObjectKind::kUnknown) || value.Is(ObjectKind::kExternal);
}

Value RealResult(Operator op, double a, double b) {
  switch (op) {
    case Operator::kAdd:
      return Value::Float(a + b);
    case Operator::kSub:
      return Value::Float(a - b);
    case Operator::kMul:
      return Value::Float(a * b);
    case Operator::kDiv:
      return Value::Float(a / b);
    case Operator::kFloorDiv:
      return Value::Float(std::floor(a / b));
    case Operator::kMod:
      return Value::Float(a - b * std::floor(a / b));
    case Operator::kPow:
      return Value::Float(std::pow(a, b));
    default:
      return {};
  }
}

int64_t FloorDivide(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

Value IntegerResult(Operator op, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (op) {
    case Operator::kAdd:
      return __builtin_add_overflow(a, b, &result) ? Value::Float(double(a) + double(b))
                                                   : Value::Int(result);
    case Operator::kSub:
      return __builtin_sub_overflow(a, b, &result) ? Value::Float(double(a) - double(b))
                                                   : Value::Int(result);
    case Operator::kMul:
      return __builtin_mul_overflow(a, b, &result) ? Value::Float(double(a) * double(b))
                                                   : Value::Int(result);
    case Operator::kFloorDiv:
      return Value::Int(FloorDivide(a, b));
    case Operator::kMod:
      return Value::Int(a - b * FloorDivide(a, b));
    case Operator::kPow: {
      const double power = std::pow(double(a), double(b));
      return b >= 0 && std::fabs(power) < 9e15 ? Value::Int(static_cast<int64_t>(power))
                                               : Value::Float(power);
    }
    case Operator::kBitAnd:
      return Value::Int(a & b);
    case Operator::kBitOr:
      return Value::Int(a | b);
    case Operator::kBitXor:
      return Value::Int(a ^ b);
    case Operator::kShiftLeft:
      return b >= 0 && b < 63 ? Value::Int(a << b) : Value::Float(std::ldexp(double(a), int(b)));
    case Operator::kShiftRight:
      return Value::Int(b >= 0 && b < 63 ? a >> b : 0);
    default:
      return RealResult(op, double(a), double(b));
  }
}

template <typename T>
bool Ordered(Operator op, const T& a, const T& b) {
  switch (op) {
    case Operator::kLt:
      return a < b;
    case Operator::kLe:
      return a <= b;
    case Operator::kGt:
      return a > b;
    case Operator::kGe:
      return a >= b;
    case Operator::kNe:
      return a != b;
    default:
      return a == b;
  }
}

bool OrderedItems(Operator op, const std::vector<Value>& a, const std::vector<Value>& b) {
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (Equal(a[i], b[i])) continue;
    if (a[i].IsNumber() && b[i].IsNumber()) return Ordered(op, a[i].AsReal(), b[i].AsReal());
    return Ordered(op, Str(a[i]), Str(b[i]));
  }
  return Ordered(op, a.size(), b.size());
}

}  // namespace

Value Interpreter::FromDim(const Dim& dim) {
  if (const auto number = dim.constant()) return Value::Int(*number);
  return heap.New<SymbolicObject>(dim);
}

std::optional<Dim> Interpreter::ToDim(const Value& value) {
  if (value.IsInt() || value.IsBool()) return Dim(value.AsInt());
  if (const auto* symbolic = value.As<SymbolicObject>()) return symbolic->dim;
  return std::nullopt;
}

std::optional<bool> Interpreter::SymbolicCompare(Operator op, const Dim& left, const Dim& right) {
  if (left == right) {
    return op == Operator::kEq || op == Operator::kLe || op == Operator::kGe;
  }
  const Dim difference = left - right;
  if (const auto number = difference.constant()) return Ordered<int64_t>(op, *number, 0);
  if (strict) {
    // Sizes are at least one; two different symbols may or may not be equal.
    Refuse("a branch on the size " + left.text());
  }
  // Branches on the number of tokens are decided for the larger of the token counts.
  const auto value = difference.TryEval({{"T", platform.max_tokens}});
  if (!value) return std::nullopt;
  return Ordered<int64_t>(op, *value, 0);
}

namespace {

Value NumberBinary(Interpreter& in, Operator op, const Value& left, const Value& right) {
  const bool divides = op == Operator::kDiv || op == Operator::kFloorDiv || op == Operator::kMod;
  if (divides && right.AsReal() == 0) in.Raise("ZeroDivisionError", "division by zero");
  if (left.IsBool() && right.IsBool() && op >= Operator::kBitAnd && op <= Operator::kBitXor) {
    return Value::Bool(IntegerResult(op, left.AsInt(), right.AsInt()).integer != 0);
  }
  return left.IsFloat() || right.IsFloat() ? RealResult(op, left.AsReal(), right.AsReal())
                                           : IntegerResult(op, left.AsInt(), right.AsInt());
}

// Nothing when the result is no size for all values of the symbols.
std::optional<Dim> SizeBinary(Operator op, const Dim& a, const Dim& b) {
  switch (op) {
    case Operator::kAdd:
      return a + b;
    case Operator::kSub:
      return a - b;
    case Operator::kMul:
      return a * b;
    case Operator::kFloorDiv:
      return Dim::DivideExactly(a, b);
    case Operator::kMod:
      return Dim::DivideExactly(a, b) ? std::optional(Dim(0)) : std::nullopt;
    default:
      return std::nullopt;
  }
}

bool IsSequence(const Value& value) {
  return value.Is(ObjectKind::kList) || value.Is(ObjectKind::kTuple);
}

Value NewLike(Interpreter& in, const Value& sequence, std::vector<Value> items) {
  return sequence.Is(ObjectKind::kList) ? in.NewList(std::move(items))
                                        : in.NewTuple(std::move(items));
}

// Strings, lists and tuples, joined or repeated; undefined for anything else.
Value SequenceBinary(Interpreter& in, Operator op, const Value& left, const Value& right) {
  if (op == Operator::kAdd) {
    if (Text(left) != nullptr && Text(right) != nullptr) {
      return in.NewString(*Text(left) + *Text(right));
    }
    if (!IsSequence(left) || !IsSequence(right)) return {};
    if (left.Is(ObjectKind::kList) != right.Is(ObjectKind::kList)) return {};
    std::vector<Value> items = in.Iterate(left);
    for (const Value& item : in.Iterate(right)) items.push_back(item);
    return NewLike(in, left, std::move(items));
  }
  if (op != Operator::kMul || !(left.IsInt() || right.IsInt())) return {};
  constexpr int64_t kMostRepeats = 100'000;
  const Value& sequence = left.IsInt() ? right : left;
  const int64_t count = std::min(left.IsInt() ? left.integer : right.integer, kMostRepeats);
  if (const std::string* piece = Text(sequence)) {
    std::string repeated;
    for (int64_t i = 0; i < count; ++i) repeated += *piece;
    return in.NewString(std::move(repeated));
  }
  if (!IsSequence(sequence)) return {};
  std::vector<Value> repeated;
  const std::vector<Value> items = in.Iterate(sequence);
  for (int64_t i = 0; i < count; ++i) repeated.insert(repeated.end(), items.begin(), items.end());
  return NewLike(in, sequence, std::move(repeated));
}

// Sets and dicts, joined or cut; undefined for anything else.
Value TableBinary(Interpreter& in, Operator op, const Value& left, const Value& right) {
  if (auto* set = left.As<SetObject>(); set != nullptr && right.Is(ObjectKind::kSet)) {
    auto* other = right.As<SetObject>();
    auto* result = in.heap.New<SetObject>();
    for (const auto& [key, unused] : set->table.entries) {
      const bool both = other->table.Find(key) != nullptr;
      const bool keep = op == Operator::kBitAnd ? both : op == Operator::kSub ? !both : true;
      if (keep) result->table.Set(key, Value::None());
    }
    if (op == Operator::kBitOr) {
      for (const auto& [key, unused] : other->table.entries) result->table.Set(key, Value::None());
    }
    return result;
  }
  auto* dict = left.As<DictObject>();
  if (op != Operator::kBitOr || dict == nullptr || !right.Is(ObjectKind::kDict)) return {};
  auto* merged = in.heap.New<DictObject>();
  merged->table = dict->table;
  for (const auto& [key, value] : right.As<DictObject>()->table.entries) {
    merged->table.Set(key, value);
  }
  return merged;
}

}  // namespace

Value Interpreter::Binary(Operator op, const Value& left_value, const Value& right_value) {
  const Value left = Native(left_value);
  const Value right = Native(right_value);
  if (left.Is(ObjectKind::kTensor) || right.Is(ObjectKind::kTensor)) {
    return TensorBinary(*this, std::string(MethodName(op)), left, right);
  }
  if (left.IsNumber() && right.IsNumber()) return NumberBinary(*this, op, left, right);
  const std::optional<Dim> a = ToDim(left);
  const std::optional<Dim> b = ToDim(right);
  if (a && b) {
    if (const auto size = SizeBinary(op, *a, *b)) return FromDim(*size);
    return NewUnknown(fmt::format("{} {} {}", Repr(left), OperatorText(op), Repr(right)));
  }
  if (op == Operator::kMod && Text(left) != nullptr) return left;  // %-formats: messages
  if (const Value result = SequenceBinary(*this, op, left, right); result.Defined()) return result;
  if (const Value result = TableBinary(*this, op, left, right); result.Defined()) return result;
  for (const bool reflected : {false, true}) {
    const Value& object = reflected ? right : left;
    const auto* instance = object.As<InstanceObject>();
    if (instance == nullptr) continue;
    const std::string method = fmt::format("__{}{}__", reflected ? "r" : "", MethodName(op));
    if (!ClassAttribute(instance->cls, method).Defined()) continue;
    Arguments arguments;
    arguments.positional = {reflected ? left : right};
    return CallMethod(object, method, std::move(arguments));
  }
  // `int | None` and the like: types that only annotations and isinstance read.
  if (op == Operator::kBitOr) return NewTuple({left, right});
  if (strict) Refuse(fmt::format("{} of {} and {}", OperatorText(op), Repr(left), Repr(right)));
  return NewUnknown(fmt::format("{} {} {}", Repr(left), OperatorText(op), Repr(right)));
}

std::optional<bool> Interpreter::Contains(const Value& container, const Value& item) {
  if (container.Is(ObjectKind::kUnknown) || item.Is(ObjectKind::kUnknown)) return std::nullopt;
  if (Text(container) != nullptr && Text(item) != nullptr) {
    return Text(container)->find(*Text(item)) != std::string::npos;
  }
  if (auto* dict = container.As<DictObject>()) return dict->table.Find(item) != nullptr;
  if (auto* set = container.As<SetObject>()) return set->table.Find(item) != nullptr;
  const auto* instance = container.As<InstanceObject>();
  if (instance != nullptr && ClassAttribute(instance->cls, "__contains__").Defined()) {
    Arguments arguments;
    arguments.positional = {item};
    return KnownTruth(CallMethod(container, "__contains__", std::move(arguments)));
  }
  if (container.Is(ObjectKind::kExternal) || (instance != nullptr && instance->open)) {
    return std::nullopt;
  }
  const std::vector<Value> items = Iterate(container);
  return std::any_of(items.begin(), items.end(),
                     [&](const Value& one) { return Identical(one, item) || Equal(one, item); });
}

namespace {

// `<` and the like on sets: one holds the other. Nothing for other values and operators.
std::optional<bool> SetsInOrder(Operator op, const Value& left, const Value& right) {
  const bool ordering = op != Operator::kEq && op != Operator::kNe;
  if (!ordering || !left.Is(ObjectKind::kSet) || !right.Is(ObjectKind::kSet)) return std::nullopt;
  const bool less = op == Operator::kLt || op == Operator::kLe;
  Table& small = (less ? left : right).As<SetObject>()->table;
  Table& large = (less ? right : left).As<SetObject>()->table;
  const bool inside = std::all_of(small.entries.begin(), small.entries.end(),
                                  [&](const auto& e) { return large.Find(e.first) != nullptr; });
  const bool proper = op == Operator::kLt || op == Operator::kGt;
  return inside && !(proper && small.entries.size() == large.entries.size());
}

}  // namespace

Value Interpreter::Compare(Operator op, const Value& left_value, const Value& right_value) {
  if (op == Operator::kIs || op == Operator::kIsNot) {
    // An unknown value may be None: only another known value decides.
    const bool unknown =
        left_value.Is(ObjectKind::kUnknown) != right_value.Is(ObjectKind::kUnknown);
    if (unknown) {
      return NewUnknown(
          fmt::format("{} {} {}", Repr(left_value), OperatorText(op), Repr(right_value)));
    }
    return Value::Bool(Identical(left_value, right_value) == (op == Operator::kIs));
  }
  const Value left = Native(left_value);
  const Value right = Native(right_value);
  const auto unknown = [&] {
    return NewUnknown(fmt::format("{} {} {}", Repr(left), OperatorText(op), Repr(right)));
  };
  if (op == Operator::kIn || op == Operator::kNotIn) {
    const std::optional<bool> known = Contains(right, left);
    return known ? Value::Bool(*known == (op == Operator::kIn)) : unknown();
  }
  if (left.Is(ObjectKind::kTensor) || right.Is(ObjectKind::kTensor)) {
    if (left.IsNone() || right.IsNone()) return Value::Bool(op == Operator::kNe);
    return TensorBinary(*this, std::string(MethodName(op)), left, right);
  }
  if (left.Is(ObjectKind::kUnknown) || right.Is(ObjectKind::kUnknown)) return unknown();
  if (left.IsNumber() && right.IsNumber()) {
    return Value::Bool(Ordered(op, left.AsReal(), right.AsReal()));
  }
  if (const auto ordered = SetsInOrder(op, left, right)) return Value::Bool(*ordered);
  const std::optional<Dim> a = ToDim(left);
  const std::optional<Dim> b = ToDim(right);
  if (a && b) {
    const auto known = SymbolicCompare(op, *a, *b);
    return known ? Value::Bool(*known) : unknown();
  }
  const bool equality = op == Operator::kEq || op == Operator::kNe;
  for (const bool reflected : {false, true}) {
    const Value& object = reflected ? right : left;
    const auto* instance = object.As<InstanceObject>();
    const std::string method = fmt::format("__{}__", MethodName(op));
    if (instance == nullptr || (reflected && !equality)) continue;
    if (!ClassAttribute(instance->cls, method).Defined()) continue;
    Arguments arguments;
    arguments.positional = {reflected ? left : right};
    return CallMethod(object, method, std::move(arguments));
  }
  const bool one_external = left.Is(ObjectKind::kExternal) != right.Is(ObjectKind::kExternal) &&
                            !left.IsNone() && !right.IsNone();
  if (one_external) return unknown();
  if (equality) return Value::Bool(Equal(left, right) == (op == Operator::kEq));
  if (Text(left) != nullptr && Text(right) != nullptr) {
    return Value::Bool(Ordered(op, *Text(left), *Text(right)));
  }
  const bool sequences = (left.Is(ObjectKind::kTuple) && right.Is(ObjectKind::kTuple)) ||
                         (left.Is(ObjectKind::kList) && right.Is(ObjectKind::kList));
  if (sequences) return Value::Bool(OrderedItems(op, Iterate(left), Iterate(right)));
  if (IsUnknown(left) || IsUnknown(right)) return unknown();
  Raise("TypeError", fmt::format("'{}' not supported between {} and {}", OperatorText(op),
                                 Repr(left), Repr(right)));
}

Value Interpreter::Unary(Operator op, const Value& value) {
  const Value operand = Native(value);
  if (operand.IsNumber()) {
    if (op == Operator::kPositive) return operand;
    if (op == Operator::kInvert) return Value::Int(~operand.AsInt());
    return operand.IsFloat() ? Value::Float(-operand.real) : Value::Int(-operand.AsInt());
  }
  if (operand.Is(ObjectKind::kTensor)) {
    return TensorUnary(*this, std::string(MethodName(op)), operand);
  }
  if (const auto dim = ToDim(operand); dim && op == Operator::kNegative) {
    return FromDim(*dim * Dim(-1));
  }
  return NewUnknown(fmt::format("{}{}", OperatorText(op), Repr(operand)));
}

}  // namespace tenon::analyze
