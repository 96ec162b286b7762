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
  if (axis < 0 && sizes.Is(ObjectKind::kList)) {
    // The shape is not known, but how many parts there are is.
    std::vector<Value> parts;
    for (size_t i = 0; i < in.Iterate(sizes).size(); ++i) {
      TensorObject* part = NewTensor(in, t->shape, t->dtype, t->axes);
      part->known_shape = false;
      parts.push_back(part);
    }
    std::vector<TensorObject*> outs;
    for (const Value& part : parts) outs.push_back(part.As<TensorObject>());
    in.tracer.Emit(in, "split", {base}, outs, {}).aux = true;
    return in.NewTuple(std::move(parts));
  }
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

// `tensor[...]`, one index after the other.
class Indexing {
 public:
  Indexing(Interpreter& in, const Value& tensor) : in_(in), tensor_(tensor), current_(tensor) {}

  Value Run(const std::vector<Value>& indices) {
    const size_t rank = tensor_.As<TensorObject>()->shape.size();
    const auto consumed =
        static_cast<size_t>(std::count_if(indices.begin(), indices.end(), [](const Value& one) {
          return !one.IsNone() && one.tag != Value::Tag::kEllipsis;
        }));
    if (consumed > rank) in_.Raise("IndexError", "too many indices for tensor");
    for (const Value& one : indices) {
      if (current_.As<TensorObject>() == nullptr) break;
      if (one.tag == Value::Tag::kEllipsis) {
        axis_ += static_cast<int>(rank - consumed);
      } else if (const Reason reason = Take(one)) {
        std::vector<Value> operands = {tensor_};
        if (one.Is(ObjectKind::kTensor)) operands.push_back(one);
        return OpaqueCall(in_, *reason, operands);
      }
    }
    return current_;
  }

 private:
  using Reason = std::optional<std::string>;  // why an index cannot be followed

  const TensorObject* tensor() const { return current_.As<TensorObject>(); }
  const Dim& size() const { return tensor()->shape[static_cast<size_t>(axis_)]; }

  Reason Take(const Value& one) {
    if (const auto* slice = one.As<SliceObject>()) return TakeSlice(*slice);
    if (const auto* rows = one.As<TensorObject>()) return TakeRows(one, rows);
    if (one.IsNone()) {
      Arguments a;
      a.positional = {current_, Value::Int(axis_)};
      current_ = UnsqueezeRule(in_, TensorFunction{}, a);
      ++axis_;
      return std::nullopt;
    }
    const auto at = in_.ToDim(one);
    if (!at) return "an index " + Repr(one);
    TakeElement(at->constant().value_or(0) < 0 ? size() + *at : *at);
    return std::nullopt;
  }

  Reason TakeSlice(const SliceObject& slice) {
    const auto start = Bound(in_, slice.start, size(), Dim(0));
    const auto stop = Bound(in_, slice.stop, size(), size());
    if (!start || !stop) return "a slice with an unknown bound";
    const int64_t step = slice.step.IsNone() ? 1 : slice.step.IsInt() ? slice.step.integer : 0;
    if (step == 1) {
      current_ = SliceOf(in_, current_, axis_++, *start, *stop);
      return std::nullopt;
    }
    const auto length = step > 0 ? Dim::DivideExactly(*stop - *start, Dim(step)) : std::nullopt;
    if (!length) return "a strided slice";
    Shape shape = tensor()->shape;
    shape[static_cast<size_t>(axis_)] = *length;
    Attr::Map attrs = {
        {"axis", axis_}, {"start", DimAttr(*start)}, {"stop", DimAttr(*stop)}, {"step", step}};
    const std::string note =
        fmt::format("[{}:{}:{} of axis {}]", start->text(), stop->text(), step, axis_);
    current_ =
        ViewOf(in_, current_, "slice", std::move(shape), tensor()->axes, note, std::move(attrs));
    ++axis_;
    return std::nullopt;
  }

  void TakeElement(const Dim& at) {
    const Value piece = SliceOf(in_, current_, axis_, at, at + Dim(1));
    Shape shape = piece.As<TensorObject>()->shape;
    std::vector<std::string> axes = piece.As<TensorObject>()->axes;
    shape.erase(shape.begin() + axis_);
    axes.erase(axes.begin() + axis_);
    current_ = ViewOf(in_, piece, "reshape", std::move(shape), std::move(axes), "", {});
  }

  Reason TakeRows(const Value& index, const TensorObject* rows) {
    if (axis_ != 0) return "an index tensor behind the first axis";
    const TensorObject* t = tensor();
    Shape shape = rows->shape;
    std::vector<std::string> axes = rows->axes;
    shape.insert(shape.end(), t->shape.begin() + 1, t->shape.end());
    axes.insert(axes.end(), t->axes.begin() + 1, t->axes.end());
    TensorObject* out = NewTensor(in_, std::move(shape), t->dtype, std::move(axes));
    const char* op = rows->dtype == "bool" ? "index" : "gather";
    in_.tracer.Emit(in_, op, {current_, index}, {out}, {{"axis", 0}}).aux = true;
    current_ = out;
    axis_ += static_cast<int>(rows->shape.size());
    return std::nullopt;
  }

  Interpreter& in_;
  const Value tensor_;
  Value current_;
  int axis_ = 0;
};

}  // namespace

Value TensorSubscript(Interpreter& in, const Value& tensor, const Value& index) {
  const auto* base = tensor.As<TensorObject>();
  if (!base->known_shape) {
    TensorObject* piece = NewTensor(in, base->shape, base->dtype, base->axes);
    piece->known_shape = false;
    piece->id = base->id;
    return piece;
  }
  if (const auto* tuple = index.As<TupleObject>()) return Indexing(in, tensor).Run(tuple->items);
  return Indexing(in, tensor).Run({index});
}

}  // namespace tenon::analyze
