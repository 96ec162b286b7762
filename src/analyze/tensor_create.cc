// Products, concatenation, creation and copies.
#include <fmt/format.h>

#include "analyze/tensor_functions.h"
#include "analyze/tensor_rules.h"

namespace tenon::analyze {
namespace {

std::string DefaultDtype(Interpreter& in, Arguments& a) {
  const Value given = Argument(a, 99, "dtype");
  const std::string named = given.Defined() ? DtypeOf(in, given) : "";
  return named.empty() ? in.platform.dtype : named;
}

// Sizes of a creation call from argument `first` on.
std::optional<Shape> Sizes(Interpreter& in, Arguments& a, size_t first) {
  std::vector<Value> values;
  if (const Value* given = a.Find("size")) {
    values = in.Iterate(*given);
  } else if (a.positional.size() > first) {
    const Value& one = a.positional[first];
    const bool sequence = one.Is(ObjectKind::kTuple) || one.Is(ObjectKind::kList);
    if (sequence) {
      values = in.Iterate(one);
    } else {
      values.assign(a.positional.begin() + static_cast<std::ptrdiff_t>(first), a.positional.end());
    }
  }
  Shape shape;
  for (const Value& value : values) {
    const auto dim = in.ToDim(value);
    if (!dim) return std::nullopt;
    shape.push_back(*dim);
  }
  return shape;
}

std::vector<Value> TensorsIn(Interpreter& in, const Value& sequence) {
  std::vector<Value> tensors;
  for (const Value& item : in.Iterate(sequence)) {
    if (item.Is(ObjectKind::kTensor)) tensors.push_back(item);
  }
  return tensors;
}

}  // namespace

Value ConcatRule(Interpreter& in, const TensorFunction& f, Arguments& a) {
  const std::vector<Value> parts = TensorsIn(in, Argument(a, 0, "tensors"));
  if (parts.empty()) return in.NewUnknown(std::string(f.name) + "(...)");
  const auto* first = parts[0].As<TensorObject>();
  const bool stack = f.name.ends_with("stack");
  const Value dim = Argument(a, 1, "dim");
  const size_t rank = first->shape.size() + (stack ? 1 : 0);
  const int axis = dim.Defined() ? AxisOf(dim, rank) : 0;
  if (axis < 0) return OpaqueCall(in, std::string(f.name), parts);
  Shape shape = first->shape;
  std::vector<std::string> axes = first->axes;
  bool parameters = true;
  if (stack) {
    shape.insert(shape.begin() + axis, Dim(static_cast<int64_t>(parts.size())));
    axes.insert(axes.begin() + axis, "stacked");
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto* part = parts[i].As<TensorObject>();
    parameters = parameters && part->is_parameter;
    if (stack || i == 0) continue;
    const auto at = static_cast<size_t>(axis);
    if (part->shape.size() == shape.size()) shape[at] = shape[at] + part->shape[at];
  }
  TensorObject* out = NewTensor(in, std::move(shape), first->dtype, std::move(axes));
  out->is_parameter = out->is_parameter || parameters;
  if (!out->is_parameter) {
    Attr::Map attrs = {{"axis", axis}};
    if (stack) attrs.emplace_back("stack", true);
    in.tracer.Emit(in, "concat", parts, {out}, std::move(attrs)).aux = true;
  }
  return out;
}

Value MatmulRule(Interpreter& in, const TensorFunction& f, Arguments& a) {
  const Value left = Argument(a, 0, "input");
  Value right = Argument(a, 1, "other");
  if (!right.Defined()) right = Argument(a, 1, "mat2");
  const auto* x = left.As<TensorObject>();
  const auto* y = right.As<TensorObject>();
  if (x == nullptr || y == nullptr) return in.NewUnknown(std::string(f.name) + "(...)");
  if (x->shape.empty() || y->shape.empty()) return OpaqueCall(in, "matmul", {left, right});
  Shape shape = x->shape;
  std::vector<std::string> axes = x->axes;
  if (y->shape.size() == 1) {
    shape.pop_back();
    axes.pop_back();
  } else {
    shape.back() = y->shape.back();
    axes.back() = y->axes.back();
  }
  TensorObject* out = NewTensor(in, std::move(shape), x->dtype, std::move(axes));
  out->is_parameter = out->is_parameter || (x->is_parameter && y->is_parameter);
  if (!out->is_parameter) in.tracer.Emit(in, std::string(f.op), {left, right}, {out});
  return out;
}

Value BufferRule(Interpreter& in, const TensorFunction& f, Arguments& a) {
  if (in.strict) in.Refuse("an uninitialised buffer");
  const auto* like = Argument(a, 0, "input").As<TensorObject>();
  const auto unwritten = [](TensorObject* buffer) {
    buffer->unwritten = true;
    return buffer;
  };
  if (f.name.ends_with("_like") && like != nullptr) {
    const Value given = Argument(a, 99, "dtype");
    const std::string named = given.Defined() ? DtypeOf(in, given) : "";
    TensorObject* out = NewTensor(in, like->shape, named.empty() ? like->dtype : named, like->axes);
    out->known_shape = like->known_shape;
    return unwritten(out);
  }
  const bool method = f.name.starts_with("torch.Tensor.");
  const auto shape = Sizes(in, a, method ? 1 : 0);
  if (!shape) return in.NewUnknown(std::string(f.name) + "(...)");
  const bool inherits = method && !Argument(a, 99, "dtype").Defined();
  return unwritten(NewTensor(in, *shape, inherits ? like->dtype : DefaultDtype(in, a)));
}

Value FillRule(Interpreter& in, const TensorFunction& f, Arguments& a) {
  const auto* like = Argument(a, 0, "input").As<TensorObject>();
  const bool is_like = f.name.ends_with("_like");
  const bool method = f.name.starts_with("torch.Tensor.");
  TensorObject* out = nullptr;
  if (f.name == "torch.arange") {
    const Value last = a.positional.size() > 1 ? a.positional[1] : Argument(a, 0, "end");
    const auto length = in.ToDim(last);
    if (!length) return in.NewUnknown("arange(...)");
    out = NewTensor(in, {*length}, "int64");
  } else if (is_like && like != nullptr) {
    out = NewTensor(in, like->shape, like->dtype, like->axes);
  } else {
    const auto shape = Sizes(in, a, method ? 1 : 0);
    if (!shape) return in.NewUnknown(std::string(f.name) + "(...)");
    out = NewTensor(in, *shape, method && like != nullptr ? like->dtype : DefaultDtype(in, a));
  }
  if (out->is_parameter) return out;
  const std::string name(f.name.substr(f.name.rfind('.') + 1));
  in.tracer.Emit(in, "fill", {}, {out}, {{"kind", name}}).aux = true;
  return out;
}

Value ConstantRule(Interpreter& in, const TensorFunction&, Arguments& a) {
  const Value content = Argument(a, 0, "data");
  Shape shape;
  Value inner = content;
  while (inner.Is(ObjectKind::kList) || inner.Is(ObjectKind::kTuple)) {
    const std::vector<Value> items = in.Iterate(inner);
    shape.push_back(Dim(static_cast<int64_t>(items.size())));
    if (items.empty()) break;
    inner = items[0];
  }
  const Value given = Argument(a, 1, "dtype");
  std::string dtype = given.Defined() ? DtypeOf(in, given) : "";
  if (dtype.empty()) dtype = inner.IsInt() ? "int64" : in.platform.dtype;
  TensorObject* out = NewTensor(in, std::move(shape), dtype);
  out->is_parameter = true;
  return out;
}

Value CopyRule(Interpreter& in, const TensorFunction& f, Arguments& a) {
  const Value x = Argument(a, 0, "input");
  auto* t = x.As<TensorObject>();
  if (t == nullptr) return in.NewUnknown(std::string(f.name) + "(...)");
  if (t->is_parameter && !f.name.ends_with("copy_")) return x;
  if (f.name.ends_with("copy_")) {
    const Value source = a.positional.at(1);
    if (!source.Is(ObjectKind::kTensor) || source.As<TensorObject>()->is_parameter) return x;
    if (in.strict) in.Refuse("an in-place copy");
    TensorObject* version = NewTensor(in, t->shape, t->dtype, t->axes);
    in.tracer.Emit(in, "copy", {source}, {version}).aux = true;
    t->id = version->id;
    return x;
  }
  Shape shape = t->shape;
  if (f.name.ends_with("repeat")) {
    std::vector<Value> times(a.positional.begin() + 1, a.positional.end());
    if (times.size() == 1 && !times[0].IsInt()) times = in.Iterate(times[0]);
    while (shape.size() < times.size()) shape.insert(shape.begin(), Dim(1));
    for (size_t i = 0; i < times.size(); ++i) {
      const size_t at = shape.size() - times.size() + i;
      shape[at] = shape[at] * in.ToDim(times[i]).value_or(Dim("n"));
    }
  }
  TensorObject* out =
      NewTensor(in, shape, t->dtype, shape == t->shape ? t->axes : std::vector<std::string>{});
  in.tracer.Emit(in, "copy", {x}, {out}).aux = true;
  return out;
}

Value GatherRule(Interpreter& in, const TensorFunction& f, Arguments& a) {
  std::vector<Value> tensors;
  for (const Value& v : a.positional) {
    if (v.Is(ObjectKind::kTensor)) tensors.push_back(v);
  }
  for (const auto& [key, v] : a.keywords) {
    if (v.Is(ObjectKind::kTensor)) tensors.push_back(v);
  }
  if (tensors.size() < 2) return in.NewUnknown(std::string(f.name) + "(...)");
  const bool embedding = f.name.ends_with("embedding");
  const auto* table = tensors[embedding ? 1 : 0].As<TensorObject>();
  const auto* index = tensors[embedding ? 0 : 1].As<TensorObject>();
  Shape shape = index->shape;
  std::vector<std::string> axes = index->axes;
  if (embedding || f.name.ends_with("index_select")) {
    shape.insert(shape.end(), table->shape.begin() + 1, table->shape.end());
    axes.insert(axes.end(), table->axes.begin() + 1, table->axes.end());
  }
  TensorObject* out = NewTensor(in, std::move(shape), table->dtype, std::move(axes));
  const bool invariant = table->is_parameter && index->is_parameter;
  out->is_parameter = out->is_parameter || invariant;
  if (!out->is_parameter) {
    const Value first = tensors[embedding ? 1 : 0];
    const Value second = tensors[embedding ? 0 : 1];
    in.tracer.Emit(in, "gather", {first, second}, {out}, {{"axis", 0}}).aux = true;
  }
  return out;
}

void TensorStore(Interpreter& in, const Value& tensor, const Value& index, const Value& value) {
  auto* t = tensor.As<TensorObject>();
  if (t->is_parameter &&
      (!value.Is(ObjectKind::kTensor) || value.As<TensorObject>()->is_parameter)) {
    return;
  }
  if (in.strict) in.Refuse("an assignment to part of a tensor");
  TensorObject* version = NewTensor(in, t->shape, t->dtype, t->axes);
  std::vector<Value> inputs = {tensor};
  if (value.Is(ObjectKind::kTensor)) inputs.push_back(value);
  in.tracer.Emit(in, "copy", inputs, {version}, {{"into", Repr(index)}}).aux = true;
  t->id = version->id;
}

}  // namespace tenon::analyze
