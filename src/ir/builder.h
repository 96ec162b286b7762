// Builds graphs so that a body reads like its formula:
//
//   Builder b("rms_norm");
//   Value x = b.Input("x", Elem::Storage(), {NamedAxis("tokens"), NamedAxis("hidden")});
//   Value w = b.OptionalInput("weight", Elem::Param(), {NamedAxis("hidden")}, 1.0);
//   Value rstd = Rsqrt(Mean(x * x, "hidden") + b.Attr("eps"));
//   b.Output("y", Round(x * rstd * w, Elem::Storage()));
//
// Every function infers the result's type and throws a UsageError that names the node when its
// arguments do not fit.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/ir.h"

namespace tenon::ir {

class Builder;

// A node of a builder's graph. Copied freely; lives as long as the builder.
class Value {
 public:
  Value() = default;
  Value(Builder* builder, NodeId id) : builder_(builder), id_(id) {}
  Builder* builder() const { return builder_; }
  NodeId id() const { return id_; }
  const Type& type() const;

 private:
  Builder* builder_ = nullptr;
  NodeId id_ = -1;
};

class Builder {
 public:
  explicit Builder(std::string name) : graph_(std::move(name)) {}
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  Value Input(std::string_view name, Elem elem, std::vector<Axis> axes);
  // Reads as `absent` when the caller gives none. The absent value of an addend is -0.0: x + -0.0
  // is x, bit for bit, for every x.
  Value OptionalInput(std::string_view name, Elem elem, std::vector<Axis> axes, double absent);
  Value Present(std::string_view optional_input);
  Value Attr(std::string_view name, Elem elem = DType::kF32);
  Value Const(double value, Elem elem = DType::kF32);
  Value Iota(Axis axis);
  std::vector<Value> Call(std::string_view op, const std::vector<Value>& args,
                          std::map<std::string, AttrValue> attributes, std::vector<Type> results);
  std::vector<Value> Opaque(std::string_view reason, const std::vector<Value>& args,
                            std::vector<Type> results);

  void Output(std::string_view name, Value value, std::string_view in_place = "",
              std::vector<Dim> strides = {});

  Value Add(Node node);                                 // infers the type
  void SetSpan(Span span) { span_ = std::move(span); }  // of the nodes added from now on

  const Graph& graph() const { return graph_; }
  Graph Take() { return std::move(graph_); }

 private:
  std::vector<Value> AddWithResults(Node node, std::vector<Type> results);
  Graph graph_;
  Span span_;
};

Value operator+(Value a, Value b);
Value operator-(Value a, Value b);
Value operator*(Value a, Value b);
Value operator/(Value a, Value b);
Value operator-(Value a);
Value operator+(Value a, double b);
Value operator-(Value a, double b);
Value operator*(Value a, double b);
Value operator/(Value a, double b);
Value operator+(double a, Value b);
Value operator-(double a, Value b);
Value operator*(double a, Value b);
Value operator/(double a, Value b);

Value Fma(Value a, Value b, Value c);
Value Unary(Op op, Value a);
Value Binary(Op op, Value a, Value b);
Value Abs(Value a);
Value Sqrt(Value a);
Value Rsqrt(Value a);
Value Exp(Value a);
Value Log(Value a);
Value Sin(Value a);
Value Cos(Value a);
Value Tanh(Value a);
Value Erf(Value a);
Value Sigmoid(Value a);
Value RoundInt(Value a);
Value Min(Value a, Value b, bool propagate_nan = true);
Value Max(Value a, Value b, bool propagate_nan = true);
Value Min(Value a, double b, bool propagate_nan = true);
Value Max(Value a, double b, bool propagate_nan = true);
Value Clamp(Value a, Value low, Value high);  // NaN stays NaN
Value Select(Value condition, Value a, Value b);
Value Not(Value a);

Value Round(Value a, Elem storage);
Value Cast(Value a, Elem elem, CastRule rule = {});

Value Reduce(ReduceKind kind, Value a, std::string_view axis, bool propagate_nan = true);
Value Sum(Value a, std::string_view axis);
Value Mean(Value a, std::string_view axis);
Value Amax(Value a, std::string_view axis);  // largest magnitude, NaN ignored

Value Broadcast(Value a, std::vector<Axis> axes);
// Elements [offset, offset + to.size) of `axis`; the result's axis is `to`.
Value Slice(Value a, std::string_view axis, Dim offset, Axis to);
// Joins along the axis at position `dim`; the result's axis there is `to`.
Value Concat(const std::vector<Value>& parts, int dim, std::string_view to);
Value Reshape(Value a, std::vector<Axis> axes);
Value SplitAxis(Value a, std::string_view axis, std::vector<Axis> to);
// The neighbours from `first` to `last` become one axis `to`.
Value MergeAxes(Value a, std::string_view first, std::string_view last, std::string_view to);
// The element `index` of `axis`, which disappears.
Value Pick(Value a, std::string_view axis, Dim index);
// Joins equal values along a new axis `axis` placed last.
Value Stack(const std::vector<Value>& parts, std::string_view axis);
Value Transpose(Value a, const std::vector<std::string>& order);
Value Copy(Value a);

Value GatherRow(Value table, Value index, IndexRule rule);
Value ScatterRow(Value target, Value index, Value value, IndexRule rule);
Value WriteSlice(Value target, Value value, int dim, Dim offset);
Value LimitRows(Value a, Value count, int dim = 0);
Value Matmul(Value a, Value b, std::string_view axis);

}  // namespace tenon::ir
