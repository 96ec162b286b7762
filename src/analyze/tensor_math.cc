// Element-wise operators, reductions and casts.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/tensor_functions.h"
#include "analyze/tensor_rules.h"

namespace tenon::analyze {
namespace {

bool IsTensor(const Value& value) { return value.Is(ObjectKind::kTensor); }

// Arithmetic on weights and constants alone is done once, when the model is loaded.
bool Invariant(const std::vector<Value>& operands) {
  return std::all_of(operands.begin(), operands.end(), [](const Value& v) {
    const auto* tensor = v.As<TensorObject>();
    return tensor == nullptr || tensor->is_parameter;
  });
}

TensorObject* Result(Interpreter& in, const std::vector<Value>& operands, Shape shape,
                     std::string dtype, std::vector<std::string> axes) {
  TensorObject* out = NewTensor(in, std::move(shape), std::move(dtype), std::move(axes));
  for (const Value& operand : operands) {
    const auto* tensor = operand.As<TensorObject>();
    if (tensor == nullptr) continue;
    out->known_shape = out->known_shape && tensor->known_shape;
    if (!Invariant(operands)) continue;
    out->is_parameter = true;
    if (out->parameter_owner != nullptr) continue;
    out->parameter_owner = tensor->parameter_owner;
    out->parameter = tensor->parameter;
  }
  return out;
}

// Adds the operand that is no tensor as an attribute.
void AddScalar(Interpreter& in, const Value& scalar, bool reversed, Attr::Map* attrs) {
  const auto* unknown = scalar.As<UnknownObject>();
  if (unknown != nullptr && unknown->is_argument) {
    attrs->emplace_back("scalar_arg", unknown->expression);
  } else if (in.strict && !scalar.IsNumber()) {
    in.Refuse("the operand " + Repr(scalar));
  } else {
    attrs->emplace_back("scalar", in.ToAttr(scalar));
  }
  if (reversed) attrs->emplace_back("reversed", true);
}

const char* CanonicalBinary(const std::string& method) {
  static constexpr std::pair<const char*, const char*> kNames[] = {{"add", "add"},
                                                                   {"sub", "sub"},
                                                                   {"mul", "mul"},
                                                                   {"truediv", "div"},
                                                                   {"pow", "pow"},
                                                                   {"matmul", "matmul"},
                                                                   {"eq", "compare"},
                                                                   {"ne", "compare"},
                                                                   {"lt", "compare"},
                                                                   {"le", "compare"},
                                                                   {"gt", "compare"},
                                                                   {"ge", "compare"},
                                                                   {"floordiv", "floor_div"},
                                                                   {"mod", "mod"},
                                                                   {"and", "logical_and"},
                                                                   {"or", "logical_or"},
                                                                   {"xor", "logical_xor"}};
  for (const auto& [name, op] : kNames) {
    if (method == name) return op;
  }
  return nullptr;
}

}  // namespace

Value TensorBinary(Interpreter& in, const std::string& method, const Value& left,
                   const Value& right) {
  const char* op = CanonicalBinary(method);
  std::vector<Value> tensors;
  for (const Value& v : {left, right}) {
    if (IsTensor(v)) tensors.push_back(v);
  }
  if (op == nullptr) return OpaqueCall(in, "operator " + method, tensors);
  if (std::string_view(op) == "matmul") {
    Arguments arguments;
    arguments.positional = {left, right};
    return MatmulRule(in, TensorFunction{"torch.matmul", "matmul", MatmulRule}, arguments);
  }
  const auto* a = left.As<TensorObject>();
  const auto* b = right.As<TensorObject>();
  const TensorObject* main = a != nullptr ? a : b;
  Attr::Map attrs;
  Shape shape = main->shape;
  std::string dtype = main->dtype;
  if (a != nullptr && b != nullptr) {
    shape = Broadcast(in, a->shape, b->shape);
    // A weight or buffer of one element takes part like a scalar.
    if (a->shape.empty() != b->shape.empty()) {
      dtype = a->shape.empty() ? b->dtype : a->dtype;
    } else {
      dtype = Promote(a->dtype, b->dtype);
    }
    if (shape != main->shape && shape == b->shape) main = b;
  } else {
    AddScalar(in, a != nullptr ? right : left, a == nullptr, &attrs);
    const Value& scalar = a != nullptr ? right : left;
    if (scalar.IsFloat() && dtype.find("int") != std::string::npos) dtype = "float32";
  }
  const bool compares = std::string_view(op) == "compare";
  if (compares) {
    attrs.emplace_back("kind", method);
    dtype = "bool";
  }
  TensorObject* out = Result(in, tensors, std::move(shape), dtype, main->axes);
  if (out->is_parameter) return out;
  in.tracer.Emit(in, op, tensors, {out}, std::move(attrs)).aux = compares;
  return out;
}

Value TensorUnary(Interpreter& in, const std::string& method, const Value& operand) {
  if (method == "pos") return operand;
  const auto* t = operand.As<TensorObject>();
  TensorObject* out = Result(in, {operand}, t->shape, t->dtype, t->axes);
  if (!out->is_parameter) in.tracer.Emit(in, method == "neg" ? "neg" : "not", {operand}, {out});
  return out;
}

Value UnaryRule(Interpreter& in, const TensorFunction& f, Arguments& a) {
  Value x = Argument(a, 0, "input");
  if (!x.Defined()) x = Argument(a, 0, "x");
  if (!IsTensor(x)) return in.NewUnknown(std::string(f.name) + "(...)");
  const auto* t = x.As<TensorObject>();
  Attr::Map attrs;
  const Value approximate = Argument(a, 1, "approximate");
  if (f.op == "gelu" && approximate.Defined() && Text(approximate) != nullptr) {
    attrs.emplace_back("approximate", *Text(approximate));
  }
  const bool widens = t->dtype == "bool" || t->dtype.find("int") != std::string::npos;
  TensorObject* out = Result(in, {x}, t->shape, widens ? "float32" : t->dtype, t->axes);
  if (!out->is_parameter) in.tracer.Emit(in, std::string(f.op), {x}, {out}, std::move(attrs));
  return out;
}

Value BinaryRule(Interpreter& in, const TensorFunction& f, Arguments& a) {
  Value left = Argument(a, 0, "input");
  Value right = Argument(a, 1, "other");
  if (!right.Defined()) right = Argument(a, 1, "exponent");
  if (!IsTensor(left) && !IsTensor(right)) return in.NewUnknown(std::string(f.name) + "(...)");
  static constexpr std::pair<const char*, const char*> kMethods[] = {
      {"add", "add"}, {"sub", "sub"}, {"mul", "mul"}, {"div", "truediv"}, {"pow", "pow"}};
  for (const auto& [op, method] : kMethods) {
    if (f.op == op) return TensorBinary(in, method, left, right);
  }
  if (f.op == "compare") {
    return TensorBinary(in, std::string(f.name.substr(f.name.rfind('.') + 1)), left, right);
  }
  const auto* x = left.As<TensorObject>();
  const auto* y = right.As<TensorObject>();
  Attr::Map attrs;
  std::vector<Value> tensors;
  for (const Value& v : {left, right}) {
    if (IsTensor(v)) {
      tensors.push_back(v);
    } else {
      AddScalar(in, v, x == nullptr, &attrs);
    }
  }
  const TensorObject* main = x != nullptr ? x : y;
  const Shape shape =
      x != nullptr && y != nullptr ? Broadcast(in, x->shape, y->shape) : main->shape;
  TensorObject* out = Result(in, tensors, shape, main->dtype, main->axes);
  if (!out->is_parameter) in.tracer.Emit(in, std::string(f.op), tensors, {out}, std::move(attrs));
  return out;
}

Value InPlaceRule(Interpreter& in, const TensorFunction& f, Arguments& a) {
  auto* target = Argument(a, 0, "input").As<TensorObject>();
  if (target == nullptr) return in.NewUnknown(std::string(f.name) + "(...)");
  if (in.strict) in.Refuse("an in-place operator");
  const std::string plain = std::string(f.name.substr(0, f.name.size() - 1));
  const TensorFunction* function = FindTensorFunction(plain);
  if (function == nullptr) return a.positional[0];
  const Value result = function->call(in, *function, a);
  // Whoever holds the tensor sees its new version.
  if (const auto* made = result.As<TensorObject>()) target->id = made->id;
  return a.positional[0];
}

Value ClampRule(Interpreter& in, const TensorFunction& f, Arguments& a) {
  const Value x = Argument(a, 0, "input");
  if (!IsTensor(x)) return in.NewUnknown(std::string(f.name) + "(...)");
  const auto* t = x.As<TensorObject>();
  Attr::Map attrs;
  for (const auto& [name, position] : {std::pair{"min", 1}, std::pair{"max", 2}}) {
    const Value bound = Argument(a, static_cast<size_t>(position), name);
    if (bound.Defined() && !bound.IsNone()) attrs.emplace_back(name, in.ToAttr(bound));
  }
  TensorObject* out = Result(in, {x}, t->shape, t->dtype, t->axes);
  if (!out->is_parameter) in.tracer.Emit(in, "clamp", {x}, {out}, std::move(attrs));
  return out;
}

Value WhereRule(Interpreter& in, const TensorFunction& f, Arguments& a) {
  std::vector<Value> tensors;
  Attr::Map attrs;
  const TensorObject* main = nullptr;
  const bool masked_fill = f.name.ends_with("masked_fill");
  for (size_t i = 0; i < a.positional.size(); ++i) {
    const Value& v = a.positional[i];
    if (!IsTensor(v)) {
      attrs.emplace_back(fmt::format("scalar{}", i), in.ToAttr(v));
      continue;
    }
    tensors.push_back(v);
    const auto* t = v.As<TensorObject>();
    if (main == nullptr || t->shape.size() > main->shape.size() || main->dtype == "bool") main = t;
  }
  if (main == nullptr) return in.NewUnknown("where(...)");
  if (masked_fill) attrs.emplace_back("masked_fill", true);
  TensorObject* out = Result(in, tensors, main->shape, main->dtype, main->axes);
  if (!out->is_parameter) in.tracer.Emit(in, "where", tensors, {out}, std::move(attrs));
  return out;
}

Value ReduceRule(Interpreter& in, const TensorFunction& f, Arguments& a) {
  const Value x = Argument(a, 0, "input");
  if (!IsTensor(x)) return in.NewUnknown(std::string(f.name) + "(...)");
  const auto* t = x.As<TensorObject>();
  const size_t rank = t->shape.size();
  const Value dim = Argument(a, 1, "dim");
  const Value keep = Argument(a, 2, "keepdim");
  const bool keepdim = keep.Defined() && in.KnownTruth(keep).value_or(false);
  std::vector<bool> reduced(rank, !dim.Defined() || dim.IsNone());
  Attr::List axes_list;
  if (dim.Defined() && !dim.IsNone()) {
    const bool many = dim.Is(ObjectKind::kTuple) || dim.Is(ObjectKind::kList);
    for (const Value& one : many ? in.Iterate(dim) : std::vector<Value>{dim}) {
      const int axis = AxisOf(one, rank);
      if (axis < 0) return OpaqueCall(in, std::string(f.name) + " along an unknown axis", {x});
      reduced[static_cast<size_t>(axis)] = true;
    }
  }
  Shape shape;
  std::vector<std::string> axes;
  for (size_t i = 0; i < rank; ++i) {
    if (reduced[i]) axes_list.push_back(static_cast<int>(i));
    if (reduced[i] && !keepdim) continue;
    shape.push_back(reduced[i] ? Dim(1) : t->shape[i]);
    axes.push_back(t->axes[i]);
  }
  const std::string kind(f.op);
  const bool index = kind == "argmax" || kind == "argmin";
  const std::string dtype = index ? "int64" : t->dtype == "bool" ? "int64" : t->dtype;
  TensorObject* out = Result(in, {x}, std::move(shape), dtype, std::move(axes));
  if (!out->is_parameter) {
    in.tracer.Emit(in, "reduce", {x}, {out},
                   {{"kind", kind}, {"axes", Attr(axes_list)}, {"keepdim", keepdim}});
  }
  return out;
}

Value CastRule(Interpreter& in, const TensorFunction& f, Arguments& a) {
  const Value x = Argument(a, 0, "input");
  if (!IsTensor(x)) return in.NewUnknown(std::string(f.name) + "(...)");
  const auto* t = x.As<TensorObject>();
  std::string dtype;
  if (f.op != "cast") {
    dtype = f.op;  // .float(), .half(): the row names the type
  } else {
    for (size_t i = 1; i < a.positional.size(); ++i) {
      const auto* like = a.positional[i].As<TensorObject>();
      if (like != nullptr) dtype = like->dtype;
      const std::string named = DtypeOf(in, a.positional[i]);
      if (!named.empty()) dtype = named;
    }
    if (const Value* given = a.Find("dtype")) dtype = DtypeOf(in, *given);
  }
  if (dtype.empty() || dtype == t->dtype) return x;  // a move between devices, or nothing at all
  TensorObject* out = Result(in, {x}, t->shape, dtype, t->axes);
  out->base = t->base;  // axes of earlier shapes stay known
  if (!out->is_parameter) {
    in.tracer.Emit(in, "cast", {x}, {out}, {{"dtype", dtype}}).aux = true;
  }
  return out;
}

Value SoftmaxRule(Interpreter& in, const TensorFunction& f, Arguments& a) {
  const Value x = Argument(a, 0, "input");
  if (!IsTensor(x)) return in.NewUnknown(std::string(f.name) + "(...)");
  const auto* t = x.As<TensorObject>();
  const int axis = AxisOf(Argument(a, 1, "dim"), t->shape.size());
  const Value given = Argument(a, 99, "dtype");
  const std::string named = given.Defined() ? DtypeOf(in, given) : "";
  TensorObject* out = Result(in, {x}, t->shape, named.empty() ? t->dtype : named, t->axes);
  if (!out->is_parameter) in.tracer.Emit(in, std::string(f.op), {x}, {out}, {{"axis", axis}});
  return out;
}

// Numbers of a vector, one by one: how many is known, what they are is not.
Value ListRule(Interpreter& in, const TensorFunction&, Arguments& a) {
  const auto* t = Argument(a, 0, "input").As<TensorObject>();
  const auto size = t == nullptr || t->shape.size() != 1 ? std::nullopt : t->shape[0].constant();
  constexpr int64_t kLongest = 1 << 16;
  if (!size || *size > kLongest) return in.NewUnknown("tolist(...)");
  std::vector<Value> numbers;
  for (int64_t i = 0; i < *size; ++i) numbers.push_back(in.NewUnknown("tolist(...)"));
  return in.NewList(std::move(numbers));
}

// Strides in elements, as if contiguous: they only choose between kernels.
Value StrideRule(Interpreter& in, const TensorFunction&, Arguments& a) {
  const auto* t = Argument(a, 0, "input").As<TensorObject>();
  if (t == nullptr || !t->known_shape) return in.NewUnknown("stride(...)");
  std::vector<Value> strides(t->shape.size());
  Dim step(1);
  for (size_t i = strides.size(); i-- > 0;) {
    strides[i] = in.FromDim(step);
    step = step * t->shape[i];
  }
  const Value dim = Argument(a, 1, "dim");
  if (!dim.Defined()) return in.NewTuple(std::move(strides));
  const int axis = AxisOf(dim, strides.size());
  return axis < 0 ? in.NewUnknown("stride(...)") : strides[static_cast<size_t>(axis)];
}

Value ItemRule(Interpreter& in, const TensorFunction&, Arguments&) {
  return in.NewUnknown("item(...)");
}

Value PredicateRule(Interpreter& in, const TensorFunction& f, Arguments& a) {
  const auto* t = Argument(a, 0, "input").As<TensorObject>();
  if (f.name.ends_with("is_contiguous")) return Value::Bool(true);
  if (f.name.ends_with("is_floating_point") && t != nullptr) {
    return Value::Bool(t->dtype.find("float") != std::string::npos);
  }
  return in.NewUnknown(std::string(f.name) + "(...)");
}

}  // namespace tenon::analyze
