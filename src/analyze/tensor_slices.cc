// Slices, splits and indices of tensors.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/tensor_functions.h"
#include "analyze/tensor_rules.h"

namespace tenon::analyze {
namespace {

Attr DimAttr(const Dim& dim) {
  const auto number = dim.constant();
  return number ? Attr(*number) : Attr(dim.text());
}

// One piece of `base` along `axis`.
Value SliceOf(Interpreter& in, const Value& base, int axis, const Dim& start, const Dim& stop) {
  const auto* t = base.As<TensorObject>();
  Shape shape = t->shape;
  shape[static_cast<size_t>(axis)] = stop - start;
  if (shape == t->shape) return base;
  const bool last = axis + 1 == static_cast<int>(shape.size());
  const std::string note = last
                               ? fmt::format("[..., {}:{}]", start.text(), stop.text())
                               : fmt::format("[{}:{} of axis {}]", start.text(), stop.text(), axis);
  Attr::Map attrs = {
      {"axis", axis}, {"start", DimAttr(start)}, {"stop", DimAttr(stop)}, {"step", 1}};
  return ViewOf(in, base, "slice", std::move(shape), t->axes, note, std::move(attrs));
}

Value SplitInto(Interpreter& in, const Value& base, int axis, const std::vector<Dim>& sizes) {
  const auto* t = base.As<TensorObject>();
  std::vector<Value> parts;
  if (in.tracer.explicit_views || t->is_parameter) {
    Dim start(0);
    for (const Dim& size : sizes) {
      parts.push_back(SliceOf(in, base, axis, start, start + size));
      start = start + size;
    }
    return in.NewTuple(std::move(parts));
  }
  std::vector<TensorObject*> outs;
  Attr::List list;
  for (const Dim& size : sizes) {
    Shape shape = t->shape;
    shape[static_cast<size_t>(axis)] = size;
    outs.push_back(NewTensor(in, std::move(shape), t->dtype, t->axes));
    parts.push_back(outs.back());
    list.push_back(DimAttr(size));
  }
  in.tracer.Emit(in, "split", {base}, outs, {{"axis", axis}, {"sizes", Attr(list)}}).aux = true;
  return in.NewTuple(std::move(parts));
}

}  // namespace

Value SplitRule(Interpreter& in, const TensorFunction&, Arguments& a) {
  const Value base = Argument(a, 0, "input");
  if (!TokenTensor(in, base)) return in.NewUnknown("split(...)");
  const auto* t = base.As<TensorObject>();
  Value sizes = Argument(a, 1, "split_size_or_sections");
  if (!sizes.Defined()) sizes = Argument(a, 1, "split_size");
  const Value dim = Argument(a, 2, "dim");
  const int axis = dim.Defined() ? AxisOf(dim, t->shape.size()) : 0;
  if (axis < 0) return OpaqueCall(in, "split", {base});
  const Dim whole = t->shape[static_cast<size_t>(axis)];
  std::vector<Dim> parts;
  if (const auto each = in.ToDim(sizes)) {
    const auto quotient = Dim::DivideExactly(whole, *each);
    const auto count = quotient ? quotient->constant() : std::nullopt;
    if (!count) return OpaqueCall(in, "split by an uneven size", {base});
    parts.assign(static_cast<size_t>(*count), *each);
  } else {
    for (const Value& size : in.Iterate(sizes)) {
      parts.push_back(in.ToDim(size).value_or(Dim("n")));
    }
  }
  return SplitInto(in, base, axis, parts);
}

Value ChunkRule(Interpreter& in, const TensorFunction&, Arguments& a) {
  const Value base = Argument(a, 0, "input");
  if (!TokenTensor(in, base)) return in.NewUnknown("chunk(...)");
  const auto* t = base.As<TensorObject>();
  const Value count = Argument(a, 1, "chunks");
  const Value dim = Argument(a, 2, "dim");
  const int axis = dim.Defined() ? AxisOf(dim, t->shape.size()) : 0;
  if (axis < 0 || !count.IsInt()) return OpaqueCall(in, "chunk", {base});
  const auto each = Dim::DivideExactly(t->shape[static_cast<size_t>(axis)], Dim(count.integer));
  if (!each) return OpaqueCall(in, "chunk into uneven pieces", {base});
  return SplitInto(in, base, axis, std::vector<Dim>(static_cast<size_t>(count.integer), *each));
}

Value NarrowRule(Interpreter& in, const TensorFunction&, Arguments& a) {
  const Value base = Argument(a, 0, "input");
  const auto* t = base.As<TensorObject>();
  const int axis = AxisOf(Argument(a, 1, "dim"), t->shape.size());
  const auto start = in.ToDim(Argument(a, 2, "start"));
  const auto length = in.ToDim(Argument(a, 3, "length"));
  if (axis < 0 || !start || !length) return OpaqueCall(in, "narrow", {base});
  return SliceOf(in, base, axis, *start, *start + *length);
}

Value UnbindRule(Interpreter& in, const TensorFunction&, Arguments& a) {
  const Value base = Argument(a, 0, "input");
  const auto* t = base.As<TensorObject>();
  const Value dim = Argument(a, 1, "dim");
  const int axis = dim.Defined() ? AxisOf(dim, t->shape.size()) : 0;
  const auto length = axis < 0 ? std::nullopt : t->shape[static_cast<size_t>(axis)].constant();
  if (!length) return OpaqueCall(in, "unbind", {base});
  std::vector<Value> parts;
  for (int64_t i = 0; i < *length; ++i) {
    const Value piece = SliceOf(in, base, axis, Dim(i), Dim(i + 1));
    Arguments squeeze;
    squeeze.positional = {piece, Value::Int(axis)};
    parts.push_back(SqueezeRule(in, TensorFunction{}, squeeze));
  }
  return in.NewTuple(std::move(parts));
}

Value SizeRule(Interpreter& in, const TensorFunction& f, Arguments& a) {
  const auto* t = a.positional[0].As<TensorObject>();
  if (f.name.ends_with("numel")) return in.FromDim(Product(t->shape));
  if (f.name.ends_with("dim")) return Value::Int(static_cast<int64_t>(t->shape.size()));
  const Value dim = Argument(a, 1, "dim");
  if (!dim.Defined()) return TensorAttribute(in, a.positional[0], "shape");
  const int axis = AxisOf(dim, t->shape.size());
  return axis < 0 ? in.NewUnknown("size(...)") : in.FromDim(t->shape[static_cast<size_t>(axis)]);
}

namespace {

// A bound of a slice along an axis of `size`; negative ones count from the end.
std::optional<Dim> Bound(Interpreter& in, const Value& value, const Dim& size,
                         const Dim& fallback) {
  if (value.IsNone() || !value.Defined()) return fallback;
  const auto dim = in.ToDim(value);
  if (!dim) return std::nullopt;
  if (dim->text().starts_with("-")) return size + *dim;
  const auto at = dim->constant();
  const auto length = size.constant();
  return at && length ? Dim(std::min(*at, *length)) : *dim;
}

}  // namespace

Value TensorSubscript(Interpreter& in, const Value& tensor, const Value& index) {
  std::vector<Value> indices = {index};
  if (const auto* tuple = index.As<TupleObject>()) indices = tuple->items;
  const size_t rank = tensor.As<TensorObject>()->shape.size();
  size_t consumed = 0;
  for (const Value& one : indices) {
    if (!one.IsNone() && one.tag != Value::Tag::kEllipsis) ++consumed;
  }
  if (consumed > rank) in.Raise("IndexError", "too many indices for tensor");
  Value current = tensor;
  int axis = 0;
  for (const Value& one : indices) {
    const auto* t = current.As<TensorObject>();
    if (t == nullptr) return current;
    if (one.tag == Value::Tag::kEllipsis) {
      axis += static_cast<int>(rank - consumed);
      continue;
    }
    if (one.IsNone()) {
      Arguments a;
      a.positional = {current, Value::Int(axis)};
      current = UnsqueezeRule(in, TensorFunction{}, a);
      ++axis;
      continue;
    }
    if (const auto* slice = one.As<SliceObject>()) {
      const Dim size = t->shape[static_cast<size_t>(axis)];
      const auto start = Bound(in, slice->start, size, Dim(0));
      const auto stop = Bound(in, slice->stop, size, size);
      const bool step_one =
          slice->step.IsNone() || (slice->step.IsInt() && slice->step.integer == 1);
      if (!start || !stop) return OpaqueCall(in, "a slice with an unknown bound", {tensor});
      if (step_one) {
        current = SliceOf(in, current, axis, *start, *stop);
      } else {
        const auto length = slice->step.IsInt() && slice->step.integer > 0
                                ? Dim::DivideExactly(*stop - *start, Dim(slice->step.integer))
                                : std::nullopt;
        if (!length) return OpaqueCall(in, "a strided slice", {tensor});
        Shape shape = t->shape;
        shape[static_cast<size_t>(axis)] = *length;
        Attr::Map attrs = {{"axis", axis},
                           {"start", DimAttr(*start)},
                           {"stop", DimAttr(*stop)},
                           {"step", slice->step.integer}};
        const std::string note = fmt::format("[{}:{}:{} of axis {}]", start->text(), stop->text(),
                                             slice->step.integer, axis);
        current = ViewOf(in, current, "slice", std::move(shape), t->axes, note, attrs);
      }
      ++axis;
      continue;
    }
    if (const auto dim = in.ToDim(one)) {
      const Dim size = t->shape[static_cast<size_t>(axis)];
      const Dim at = dim->constant().value_or(0) < 0 ? size + *dim : *dim;
      const Value piece = SliceOf(in, current, axis, at, at + Dim(1));
      Shape shape = piece.As<TensorObject>()->shape;
      std::vector<std::string> axes = piece.As<TensorObject>()->axes;
      shape.erase(shape.begin() + axis);
      axes.erase(axes.begin() + axis);
      current = ViewOf(in, piece, "reshape", std::move(shape), std::move(axes), "", {});
      continue;
    }
    if (const auto* rows = one.As<TensorObject>()) {
      if (axis != 0) return OpaqueCall(in, "an index tensor behind the first axis", {tensor, one});
      Shape shape = rows->shape;
      std::vector<std::string> axes = rows->axes;
      shape.insert(shape.end(), t->shape.begin() + 1, t->shape.end());
      axes.insert(axes.end(), t->axes.begin() + 1, t->axes.end());
      TensorObject* out = NewTensor(in, std::move(shape), t->dtype, std::move(axes));
      const char* op = rows->dtype == "bool" ? "index" : "gather";
      in.tracer.Emit(in, op, {current, one}, {out}, {{"axis", 0}}).aux = true;
      current = out;
      axis += static_cast<int>(rows->shape.size());
      continue;
    }
    return OpaqueCall(in, "an index " + Repr(one), {tensor});
  }
  return current;
}

}  // namespace tenon::analyze
