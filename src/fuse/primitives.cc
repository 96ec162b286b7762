// Tensor operators of PyTorch as primitive nodes: float32 arithmetic, one rounding to the type of
// the result, as the framework's own kernels do.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "fuse/translate.h"

namespace tenon::fuse {
namespace {

using ir::Op;
using ir::Value;
using Values = std::vector<Value>;

Value Stored(Composer& c, const ir::Node& call, Value value) {
  const ir::Elem elem = c.ResultElem(call, 0);
  if (!elem.is_float()) return value;
  return Round(value, elem);
}

// Operand `i` on the result's axes; beyond the tensors, the scalar of the call.
Value Operand(Composer& c, const ir::Node& call, size_t i) {
  const ir::Type type = c.Translate(call.results.at(0));
  if (i < call.args.size()) {
    const Value value = c.Of(call.args[i]);
    return value.type().axes.empty() ? value : AlignTo(value, type);
  }
  const std::string name = c.Word(call, "scalar_arg");
  if (!name.empty()) return c.builder().Attr(name);
  if (!call.call.contains("scalar")) c.Refuse(call, "its second operand is unknown");
  return c.builder().Const(c.Float(call, "scalar", 0));
}

struct Pair {
  Value a;
  Value b;
};

Pair Operands(Composer& c, const ir::Node& call) {
  Pair pair{Operand(c, call, 0), Operand(c, call, 1)};
  if (c.Bool(call, "reversed", false)) std::swap(pair.a, pair.b);
  return pair;
}

template <Op op>
Values Binary(Composer& c, const ir::Node& call) {
  const auto [a, b] = Operands(c, call);
  return {Stored(c, call, ir::Binary(op, a, b))};
}

// a > b is b < a.
template <Op op>
Values Swapped(Composer& c, const ir::Node& call) {
  const auto [a, b] = Operands(c, call);
  return {ir::Binary(op, b, a)};
}

template <Op op>
Values Unary(Composer& c, const ir::Node& call) {
  return {Stored(c, call, ir::Unary(op, Operand(c, call, 0)))};
}

Values Pow(Composer& c, const ir::Node& call) {
  const Value x = Operand(c, call, 0);
  const double exponent = c.Float(call, "scalar", NAN);
  if (call.args.size() == 1 && exponent == 2) return {Stored(c, call, x * x)};
  if (call.args.size() == 1 && exponent == 0.5) return {Stored(c, call, Sqrt(x))};
  if (call.args.size() == 1 && exponent == -0.5) return {Stored(c, call, Rsqrt(x))};
  if (call.args.size() == 1 && exponent == 3) return {Stored(c, call, x * x * x)};
  c.Refuse(call, "of powers only 2, 3, 0.5 and -0.5 are understood");
}

Values Silu(Composer& c, const ir::Node& call) {
  const Value x = Operand(c, call, 0);
  return {Stored(c, call, x * Sigmoid(x))};
}

Values Gelu(Composer& c, const ir::Node& call) {
  const Value x = Operand(c, call, 0);
  if (call.name == "gelu_tanh" || c.Word(call, "approximate") == "tanh") {
    const double factor = std::sqrt(2 / std::numbers::pi);
    return {Stored(c, call, 0.5 * x * (1.0 + Tanh(factor * (x + 0.044715 * x * x * x))))};
  }
  return {Stored(c, call, 0.5 * x * (1.0 + Erf(x * std::numbers::sqrt2 * 0.5)))};
}

Values Relu(Composer& c, const ir::Node& call) {
  const Value x = Max(Operand(c, call, 0), 0);
  return {Stored(c, call, call.name == "relu2" ? x * x : x)};
}

Values Square(Composer& c, const ir::Node& call) {
  const Value x = Operand(c, call, 0);
  return {Stored(c, call, x * x)};
}

// log(1 + exp(x)) without overflow; torch is linear beyond 20.
Values Softplus(Composer& c, const ir::Node& call) {
  const Value x = Operand(c, call, 0);
  const Value soft = Log(1.0 + Exp(Min(x, 20)));
  return {Stored(c, call, Select(ir::Binary(Op::kLt, c.builder().Const(20), x), x, soft))};
}

Values Clamp(Composer& c, const ir::Node& call) {
  Value x = Operand(c, call, 0);
  if (call.call.contains("min")) x = Max(x, c.Float(call, "min", 0));
  if (call.call.contains("max")) x = Min(x, c.Float(call, "max", 0));
  return {Stored(c, call, x)};
}

Values Where(Composer& c, const ir::Node& call) {
  Value otherwise = Operand(c, call, 2);
  return {Stored(c, call, Select(Operand(c, call, 0), Operand(c, call, 1), otherwise))};
}

Values Cast(Composer& c, const ir::Node& call) {
  const Value x = Operand(c, call, 0);
  const ir::Elem elem = c.ResultElem(call, 0);
  if (elem.is_float() && x.type().elem.is_float()) return {Round(x, elem)};
  // Integers truncate in PyTorch.
  return {ir::Cast(x, elem, {ir::Rounding::kTowardZero, true, true})};
}

Values Copy(Composer& c, const ir::Node& call) {
  return {WithAxes(c.Of(call.args.at(0)), c.Translate(call.results.at(0)).axes)};
}

// elements [start, start + n*step) of an axis; a step only when it divides the axis.
Values Slice(Composer& c, const ir::Node& call) {
  const Value x = c.Of(call.args.at(0));
  const ir::Type type = c.Translate(call.results.at(0));
  const auto rank = static_cast<int64_t>(x.type().axes.size());
  int64_t at = c.Int(call, "axis", rank - 1);
  if (at < 0) at += rank;
  const ir::Axis from = x.type().axes.at(static_cast<size_t>(at));
  const ir::Axis to = type.axes.at(static_cast<size_t>(at));
  const ir::Dim start = call.call.contains("start") && !c.Word(call, "start").empty()
                            ? ir::Dim(c.Word(call, "start"))
                            : ir::Dim(c.Int(call, "start", 0));
  const int64_t step = c.Int(call, "step", 1);
  if (step == 1) {
    return {WithAxes(ir::Slice(x, from.name, start, {from.name, to.size}), type.axes)};
  }
  const ir::Dim groups = ir::Dim::FloorDiv(from.size, ir::Dim(step));
  const auto first = start.constant();
  if (!(groups * ir::Dim(step) == from.size) || !(groups == to.size) || !first || *first >= step) {
    c.Refuse(call, fmt::format("a step of {} must divide the axis of {} elements", step,
                               from.size.text()));
  }
  const Value split = SplitAxis(x, from.name, {{from.name, groups}, {"step", ir::Dim(step)}});
  return {WithAxes(Pick(split, "step", start), type.axes)};
}

Values Transpose(Composer& c, const ir::Node& call) {
  const Value x = c.Of(call.args.at(0));
  const auto it = call.call.find("axes");
  const auto* order =
      it == call.call.end() ? nullptr : std::get_if<std::vector<int64_t>>(&it->second);
  if (order == nullptr) c.Refuse(call, "its order of axes is unknown");
  std::vector<std::string> names;
  for (const int64_t axis : *order)
    names.push_back(x.type().axes.at(static_cast<size_t>(axis)).name);
  return {WithAxes(ir::Transpose(x, names), c.Translate(call.results.at(0)).axes)};
}

Values Broadcast(Composer& c, const ir::Node& call) {
  const ir::Type type = c.Translate(call.results.at(0));
  return {ir::Broadcast(AlignTo(c.Of(call.args.at(0)), type), type.axes)};
}

Values Concat(Composer& c, const ir::Node& call) {
  const ir::Type type = c.Translate(call.results.at(0));
  int64_t at = c.Int(call, "axis", -1);
  if (at < 0) at += static_cast<int64_t>(type.axes.size());
  Values parts;
  for (const ir::NodeId arg : call.args) {
    const Value part = c.Of(arg);
    std::vector<ir::Axis> axes = type.axes;
    axes.at(static_cast<size_t>(at)).size = part.type().axes.at(static_cast<size_t>(at)).size;
    parts.push_back(WithAxes(part, axes));
  }
  return {ir::Concat(parts, static_cast<int>(at), type.axes[static_cast<size_t>(at)].name)};
}

Values Reduce(Composer& c, const ir::Node& call) {
  constexpr std::array<std::pair<std::string_view, ir::ReduceKind>, 5> kKinds = {
      {{"sum", ir::ReduceKind::kSum},
       {"mean", ir::ReduceKind::kMean},
       {"max", ir::ReduceKind::kMax},
       {"min", ir::ReduceKind::kMin},
       {"amax", ir::ReduceKind::kMax}}};  // torch.amax: the largest value, not magnitude
  const std::string word = c.Word(call, "kind");
  const auto kind = std::find_if(kKinds.begin(), kKinds.end(),
                                 [&](const auto& row) { return row.first == word; });
  if (kind == kKinds.end()) c.Refuse(call, fmt::format("reduction '{}' is not understood", word));
  const Value x = c.Of(call.args.at(0));
  const std::vector<int64_t> axes = c.Ints(call, "axes");
  const auto last = static_cast<int64_t>(x.type().axes.size()) - 1;
  if (axes != std::vector<int64_t>{last} || last == 0) {
    c.Refuse(call, fmt::format("{} of {} goes along axes {}, a kernel works row by row and reduces "
                               "along the last axis",
                               word, ir::TypeText(x.type()), ir::AttrText(axes)));
  }
  const std::string name = x.type().axes.back().name;
  const Value reduced = Stored(c, call, ir::Reduce(kind->second, x, name));
  return {WithAxes(reduced, c.Translate(call.results.at(0)).axes)};
}

Values Gather(Composer& c, const ir::Node& call) {
  return {GatherRow(c.Of(call.args.at(0)), c.Of(call.args.at(1)), ir::IndexRule::kError)};
}

struct Row {
  std::string_view op;
  Translation translation;
};
constexpr std::array<Row, 47> kRows = {{{"add", Binary<Op::kAdd>},
                                        {"sub", Binary<Op::kSub>},
                                        {"mul", Binary<Op::kMul>},
                                        {"div", Binary<Op::kDiv>},
                                        {"maximum", Binary<Op::kMax>},
                                        {"minimum", Binary<Op::kMin>},
                                        {"lt", Binary<Op::kLt>},
                                        {"le", Binary<Op::kLe>},
                                        {"eq", Binary<Op::kEq>},
                                        {"ne", Binary<Op::kNe>},
                                        {"gt", Swapped<Op::kLt>},
                                        {"ge", Swapped<Op::kLe>},
                                        {"logical_and", Binary<Op::kAnd>},
                                        {"logical_or", Binary<Op::kOr>},
                                        {"logical_not", Unary<Op::kNot>},
                                        {"pow", Pow},
                                        {"neg", Unary<Op::kNeg>},
                                        {"abs", Unary<Op::kAbs>},
                                        {"sqrt", Unary<Op::kSqrt>},
                                        {"rsqrt", Unary<Op::kRsqrt>},
                                        {"exp", Unary<Op::kExp>},
                                        {"log", Unary<Op::kLog>},
                                        {"sin", Unary<Op::kSin>},
                                        {"cos", Unary<Op::kCos>},
                                        {"tanh", Unary<Op::kTanh>},
                                        {"erf", Unary<Op::kErf>},
                                        {"sigmoid", Unary<Op::kSigmoid>},
                                        {"floor", Unary<Op::kFloor>},
                                        {"round", Unary<Op::kRoundInt>},
                                        {"square", Square},
                                        {"silu", Silu},
                                        {"gelu", Gelu},
                                        {"gelu_tanh", Gelu},
                                        {"relu", Relu},
                                        {"relu2", Relu},
                                        {"softplus", Softplus},
                                        {"clamp", Clamp},
                                        {"where", Where},
                                        {"cast", Cast},
                                        {"copy", Copy},
                                        {"reshape", Copy},
                                        {"slice", Slice},
                                        {"transpose", Transpose},
                                        {"broadcast", Broadcast},
                                        {"concat", Concat},
                                        {"reduce", Reduce},
                                        {"gather", Gather}}};

}  // namespace

Translation FindPrimitive(std::string_view op) {
  const auto row =
      std::find_if(kRows.begin(), kRows.end(), [op](const Row& r) { return r.op == op; });
  return row == kRows.end() ? nullptr : row->translation;
}

}  // namespace tenon::fuse
