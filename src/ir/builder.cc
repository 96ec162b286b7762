#include "ir/builder.h"

#include "base/error.h"
#include "ir/infer.h"

namespace tenon::ir {
namespace {

Value AddNode(Value a, Node node) { return a.builder()->Add(std::move(node)); }

Node MakeNode(Op op, std::initializer_list<Value> args) {
  Node node;
  node.op = op;
  for (Value v : args) node.args.push_back(v.id());
  return node;
}

Value ConstLike(Value a, double value) {
  return a.builder()->Const(value, a.type().elem.is_float() ? Elem(DType::kF32) : a.type().elem);
}

int AxisPosition(Value a, std::string_view axis) {
  const int position = a.type().FindAxis(axis);
  TENON_CHECK(position >= 0, "{} has no axis {}", TypeText(a.type()), axis);
  return position;
}

}  // namespace

const Type& Value::type() const { return builder_->graph().node(id_).type; }

Value Builder::Add(Node node) {
  node.type = InferType(graph_, node);
  node.span = span_;
  return {this, graph_.Add(std::move(node))};
}

Value Builder::Input(std::string_view name, Elem elem, std::vector<Axis> axes) {
  Node node = MakeNode(Op::kInput, {});
  node.name = name;
  node.type = {elem, std::move(axes)};
  return Add(std::move(node));
}

Value Builder::OptionalInput(std::string_view name, Elem elem, std::vector<Axis> axes,
                             double absent) {
  Node node = MakeNode(Op::kInput, {});
  node.name = name;
  node.type = {elem, std::move(axes)};
  node.optional = true;
  node.value = absent;
  return Add(std::move(node));
}

Value Builder::Present(std::string_view optional_input) {
  Node node = MakeNode(Op::kPresent, {});
  node.name = optional_input;
  return Add(std::move(node));
}

Value Builder::Attr(std::string_view name, Elem elem) {
  Node node = MakeNode(Op::kAttr, {});
  node.name = name;
  node.type = {elem, {}};
  return Add(std::move(node));
}

Value Builder::Const(double value, Elem elem) {
  Node node = MakeNode(Op::kConst, {});
  node.value = value;
  node.type = {elem, {}};
  return Add(std::move(node));
}

Value Builder::Iota(Axis axis) {
  Node node = MakeNode(Op::kIota, {});
  node.type = {DType::kI32, {std::move(axis)}};
  return Add(std::move(node));
}

std::vector<Value> Builder::AddWithResults(Node node, std::vector<Type> results) {
  TENON_CHECK(!results.empty(), "{} {}: has no result", OpName(node.op), node.name);
  const size_t count = results.size();
  node.results = std::move(results);
  const Value call = Add(std::move(node));
  if (count == 1) return {call};
  std::vector<Value> values;
  for (size_t i = 0; i < count; ++i) {
    Node result = MakeNode(Op::kResult, {call});
    result.dim = static_cast<int>(i);
    values.push_back(Add(std::move(result)));
  }
  return values;
}

std::vector<Value> Builder::Call(std::string_view op, const std::vector<Value>& args,
                                 std::map<std::string, AttrValue> attributes,
                                 std::vector<Type> results) {
  Node node = MakeNode(Op::kCall, {});
  for (Value v : args) node.args.push_back(v.id());
  node.name = op;
  node.call = std::move(attributes);
  return AddWithResults(std::move(node), std::move(results));
}

std::vector<Value> Builder::Opaque(std::string_view reason, const std::vector<Value>& args,
                                   std::vector<Type> results) {
  Node node = MakeNode(Op::kOpaque, {});
  for (Value v : args) node.args.push_back(v.id());
  node.name = reason;
  return AddWithResults(std::move(node), std::move(results));
}

void Builder::Output(std::string_view name, Value value, std::string_view in_place,
                     std::vector<Dim> strides) {
  graph_.AddOutput({std::string(name), value.id(), std::string(in_place), std::move(strides)});
}

Value Binary(Op op, Value a, Value b) { return AddNode(a, MakeNode(op, {a, b})); }
Value Unary(Op op, Value a) { return AddNode(a, MakeNode(op, {a})); }

Value operator+(Value a, Value b) { return Binary(Op::kAdd, a, b); }
Value operator-(Value a, Value b) { return Binary(Op::kSub, a, b); }
Value operator*(Value a, Value b) { return Binary(Op::kMul, a, b); }
Value operator/(Value a, Value b) { return Binary(Op::kDiv, a, b); }
Value operator-(Value a) { return Unary(Op::kNeg, a); }
Value operator+(Value a, double b) { return a + ConstLike(a, b); }
Value operator-(Value a, double b) { return a - ConstLike(a, b); }
Value operator*(Value a, double b) { return a * ConstLike(a, b); }
Value operator/(Value a, double b) { return a / ConstLike(a, b); }
Value operator+(double a, Value b) { return ConstLike(b, a) + b; }
Value operator-(double a, Value b) { return ConstLike(b, a) - b; }
Value operator*(double a, Value b) { return ConstLike(b, a) * b; }
Value operator/(double a, Value b) { return ConstLike(b, a) / b; }

Value Fma(Value a, Value b, Value c) { return AddNode(a, MakeNode(Op::kFma, {a, b, c})); }
Value Abs(Value a) { return Unary(Op::kAbs, a); }
Value Sqrt(Value a) { return Unary(Op::kSqrt, a); }
Value Rsqrt(Value a) { return Unary(Op::kRsqrt, a); }
Value Exp(Value a) { return Unary(Op::kExp, a); }
Value Log(Value a) { return Unary(Op::kLog, a); }
Value Sin(Value a) { return Unary(Op::kSin, a); }
Value Cos(Value a) { return Unary(Op::kCos, a); }
Value Tanh(Value a) { return Unary(Op::kTanh, a); }
Value Erf(Value a) { return Unary(Op::kErf, a); }
Value Sigmoid(Value a) { return Unary(Op::kSigmoid, a); }
Value RoundInt(Value a) { return Unary(Op::kRoundInt, a); }
Value Not(Value a) { return Unary(Op::kNot, a); }

Value Min(Value a, Value b, bool propagate_nan) {
  Node node = MakeNode(Op::kMin, {a, b});
  node.propagate_nan = propagate_nan;
  return AddNode(a, std::move(node));
}

Value Max(Value a, Value b, bool propagate_nan) {
  Node node = MakeNode(Op::kMax, {a, b});
  node.propagate_nan = propagate_nan;
  return AddNode(a, std::move(node));
}

Value Min(Value a, double b, bool propagate_nan) { return Min(a, ConstLike(a, b), propagate_nan); }
Value Max(Value a, double b, bool propagate_nan) { return Max(a, ConstLike(a, b), propagate_nan); }
Value Clamp(Value a, Value low, Value high) { return Min(Max(a, low), high); }
Value Select(Value condition, Value a, Value b) {
  return AddNode(a, MakeNode(Op::kSelect, {condition, a, b}));
}

Value Round(Value a, Elem storage) {
  Node node = MakeNode(Op::kRound, {a});
  node.type.elem = storage;
  return AddNode(a, std::move(node));
}

Value Cast(Value a, Elem elem, CastRule rule) {
  Node node = MakeNode(Op::kCast, {a});
  node.type.elem = elem;
  node.cast = rule;
  return AddNode(a, std::move(node));
}

Value Reduce(ReduceKind kind, Value a, std::string_view axis, bool propagate_nan) {
  Node node = MakeNode(Op::kReduce, {a});
  node.reduce = kind;
  node.axis = axis;
  node.propagate_nan = propagate_nan;
  return AddNode(a, std::move(node));
}

Value Sum(Value a, std::string_view axis) { return Reduce(ReduceKind::kSum, a, axis); }
Value Mean(Value a, std::string_view axis) { return Reduce(ReduceKind::kMean, a, axis); }
Value Amax(Value a, std::string_view axis) {
  return Reduce(ReduceKind::kAmax, a, axis, /*propagate_nan=*/false);
}

Value Broadcast(Value a, std::vector<Axis> axes) {
  Node node = MakeNode(Op::kBroadcast, {a});
  node.type = {a.type().elem, std::move(axes)};
  return AddNode(a, std::move(node));
}

Value Slice(Value a, std::string_view axis, Dim offset, Axis to) {
  Node node = MakeNode(Op::kSlice, {a});
  node.dim = AxisPosition(a, axis);
  node.offset = std::move(offset);
  node.type = a.type();
  node.type.axes[node.dim] = std::move(to);
  return AddNode(a, std::move(node));
}

Value Concat(const std::vector<Value>& parts, int dim, std::string_view to) {
  TENON_CHECK(!parts.empty(), "concat: takes at least one argument");
  Node node = MakeNode(Op::kConcat, {});
  for (Value part : parts) node.args.push_back(part.id());
  node.dim = dim;
  node.type = parts[0].type();
  TENON_CHECK(dim >= 0 && dim < static_cast<int>(node.type.axes.size()),
              "concat: {} has no axis number {}", TypeText(node.type), dim);
  node.type.axes[dim].name = to;
  return AddNode(parts[0], std::move(node));
}

Value Reshape(Value a, std::vector<Axis> axes) {
  if (a.type().axes == axes) return a;
  Node node = MakeNode(Op::kReshape, {a});
  node.type = {a.type().elem, std::move(axes)};
  return AddNode(a, std::move(node));
}

Value SplitAxis(Value a, std::string_view axis, std::vector<Axis> to) {
  std::vector<Axis> axes = a.type().axes;
  const int position = AxisPosition(a, axis);
  axes.erase(axes.begin() + position);
  axes.insert(axes.begin() + position, to.begin(), to.end());
  return Reshape(a, std::move(axes));
}

Value MergeAxes(Value a, std::string_view first, std::string_view last, std::string_view to) {
  std::vector<Axis> axes = a.type().axes;
  const int begin = AxisPosition(a, first);
  const int end = AxisPosition(a, last);
  TENON_CHECK(begin <= end, "axis {} does not come before {} in {}", first, last,
              TypeText(a.type()));
  Axis merged{std::string(to), Dim(1)};
  for (int i = begin; i <= end; ++i) merged.size = merged.size * axes[i].size;
  axes.erase(axes.begin() + begin, axes.begin() + end + 1);
  axes.insert(axes.begin() + begin, std::move(merged));
  return Reshape(a, std::move(axes));
}

Value Pick(Value a, std::string_view axis, Dim index) {
  const Value one = Slice(a, axis, std::move(index), {std::string(axis), Dim(1)});
  std::vector<Axis> axes = one.type().axes;
  axes.erase(axes.begin() + AxisPosition(one, axis));
  return Reshape(one, std::move(axes));
}

Value Stack(const std::vector<Value>& parts, std::string_view axis) {
  std::vector<Value> columns;
  for (Value part : parts) {
    std::vector<Axis> axes = part.type().axes;
    axes.push_back({std::string(axis), Dim(1)});
    columns.push_back(Reshape(part, std::move(axes)));
  }
  return Concat(columns, static_cast<int>(columns[0].type().axes.size()) - 1, axis);
}

Value Transpose(Value a, const std::vector<std::string>& order) {
  Node node = MakeNode(Op::kTranspose, {a});
  node.type.elem = a.type().elem;
  for (const std::string& axis : order) {
    node.type.axes.push_back(a.type().axes[AxisPosition(a, axis)]);
  }
  return AddNode(a, std::move(node));
}

Value Copy(Value a) { return Unary(Op::kCopy, a); }

Value GatherRow(Value table, Value index, IndexRule rule) {
  Node node = MakeNode(Op::kGatherRow, {table, index});
  node.index_rule = rule;
  return AddNode(table, std::move(node));
}

Value ScatterRow(Value target, Value index, Value value, IndexRule rule) {
  Node node = MakeNode(Op::kScatterRow, {target, index, value});
  node.index_rule = rule;
  return AddNode(target, std::move(node));
}

Value WriteSlice(Value target, Value value, int dim, Dim offset) {
  Node node = MakeNode(Op::kWriteSlice, {target, value});
  node.dim = dim;
  node.offset = std::move(offset);
  return AddNode(target, std::move(node));
}

Value LimitRows(Value a, Value count, int dim) {
  Node node = MakeNode(Op::kLimitRows, {a, count});
  node.dim = dim;
  return AddNode(a, std::move(node));
}

Value Matmul(Value a, Value b, std::string_view axis) {
  Node node = MakeNode(Op::kMatmul, {a, b});
  node.axis = axis;
  return AddNode(a, std::move(node));
}

}  // namespace tenon::ir
