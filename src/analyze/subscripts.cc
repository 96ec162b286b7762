// Reading and writing x[i].
#include <fmt/format.h>

#include <algorithm>

#include "analyze/interpreter.h"
#include "analyze/tensor_functions.h"

namespace tenon::analyze {
namespace {

// The positions that a slice selects in a sequence of `size` items.
std::vector<size_t> SlicePositions(const SliceObject& slice, int64_t size) {
  const int64_t step = slice.step.IsInt() && slice.step.integer != 0 ? slice.step.integer : 1;
  const auto clamp = [&](const Value& value, int64_t fallback) {
    if (!value.IsInt()) return fallback;
    const int64_t at = value.integer < 0 ? value.integer + size : value.integer;
    return std::clamp<int64_t>(at, step < 0 ? -1 : 0, step < 0 ? size - 1 : size);
  };
  const int64_t start = clamp(slice.start, step < 0 ? size - 1 : 0);
  const int64_t stop = clamp(slice.stop, step < 0 ? -1 : size);
  std::vector<size_t> positions;
  for (int64_t i = start; step > 0 ? i < stop : i > stop; i += step) {
    positions.push_back(static_cast<size_t>(i));
  }
  return positions;
}

bool UnknownBound(const SliceObject& slice) {
  for (const Value& bound : {slice.start, slice.stop, slice.step}) {
    if (!bound.IsNone() && !bound.IsInt()) return true;
  }
  return false;
}

// Of a list or tuple.
Value ItemOf(Interpreter& in, const Value& object, const Value& index) {
  const bool is_list = object.Is(ObjectKind::kList);
  const std::vector<Value>& items =
      is_list ? object.As<ListObject>()->items : object.As<TupleObject>()->items;
  const auto size = static_cast<int64_t>(items.size());
  if (index.IsInt() || index.IsBool()) {
    const int64_t at = index.AsInt() < 0 ? index.AsInt() + size : index.AsInt();
    if (at < 0 || at >= size) in.Raise("IndexError", "index out of range");
    return items[static_cast<size_t>(at)];
  }
  if (const auto* slice = index.As<SliceObject>(); slice != nullptr && !UnknownBound(*slice)) {
    std::vector<Value> selected;
    for (const size_t at : SlicePositions(*slice, size)) selected.push_back(items[at]);
    return is_list ? in.NewList(std::move(selected)) : in.NewTuple(std::move(selected));
  }
  return in.NewUnknown(Repr(object) + "[" + Repr(index) + "]");
}

// Of a string; undefined when the index is not known.
Value PieceOf(Interpreter& in, const std::string& text, const Value& index) {
  const auto size = static_cast<int64_t>(text.size());
  if (index.IsInt()) {
    const int64_t at = index.integer < 0 ? index.integer + size : index.integer;
    if (at < 0 || at >= size) in.Raise("IndexError", "string index out of range");
    return in.NewString(std::string(1, text[static_cast<size_t>(at)]));
  }
  const auto* slice = index.As<SliceObject>();
  if (slice == nullptr || UnknownBound(*slice)) return {};
  std::string selected;
  for (const size_t at : SlicePositions(*slice, size)) selected += text[at];
  return in.NewString(std::move(selected));
}

}  // namespace

Value Interpreter::Subscript(const Value& object, const Value& index) {
  if (object.Is(ObjectKind::kTensor)) return TensorSubscript(*this, object, index);
  if (auto* dict = object.As<DictObject>()) {
    if (Value* found = dict->table.Find(index)) return *found;
    if (dict->default_factory.Defined()) {
      const Value made = Call(dict->default_factory, {});
      dict->table.Set(index, made);
      return made;
    }
    if (index.Is(ObjectKind::kUnknown)) return NewUnknown(Repr(object) + "[" + Repr(index) + "]");
    Raise("KeyError", Repr(index));
  }
  if (object.Is(ObjectKind::kList) || object.Is(ObjectKind::kTuple)) {
    return ItemOf(*this, object, index);
  }
  if (const std::string* text = Text(object)) {
    const Value piece = PieceOf(*this, *text, index);
    if (piece.Defined()) return piece;
  }
  if (auto* cls = object.As<ClassObject>()) {
    if (cls->is_enum && Text(index) != nullptr) return RequireAttribute(object, *Text(index));
    return object;  // Generic[T]
  }
  if (auto* external = object.As<ExternalObject>()) {
    // A Triton kernel's launch grid, or a generic type.
    return NewExternal(external->name + "[]");
  }
  if (const auto* kernel = object.As<FunctionObject>(); kernel != nullptr && kernel->kernel) {
    return NewExternal("triton." + kernel->name);  // with its grid
  }
  if (object.Is(ObjectKind::kFunction) || object.Is(ObjectKind::kBuiltin)) return object;
  if (auto* instance = object.As<InstanceObject>()) {
    if (instance->native.Defined()) return Subscript(instance->native, index);
    if (ClassAttribute(instance->cls, "__getitem__").Defined()) {
      Arguments arguments;
      arguments.positional = {index};
      return CallMethod(object, "__getitem__", std::move(arguments));
    }
    if (instance->cls->is_dataclass && index.IsInt()) {
      return Subscript(NewTuple(Iterate(object)), index);
    }
  }
  if (strict) Refuse(fmt::format("a subscript of {}", Repr(object)));
  return NewUnknown(Repr(object) + "[" + Repr(index) + "]");
}

void Interpreter::SetSubscript(const Value& object, const Value& index, const Value& value) {
  if (object.Is(ObjectKind::kTensor)) {
    TensorStore(*this, object, index, value);
    return;
  }
  if (auto* dict = object.As<DictObject>()) {
    dict->table.Set(index, value);
    return;
  }
  if (auto* list = object.As<ListObject>(); list != nullptr && index.IsInt()) {
    const auto size = static_cast<int64_t>(list->items.size());
    const int64_t at = index.integer < 0 ? index.integer + size : index.integer;
    if (at < 0 || at >= size) Raise("IndexError", "assignment index out of range");
    list->items[static_cast<size_t>(at)] = value;
    return;
  }
  const auto* instance = object.As<InstanceObject>();
  if (instance == nullptr) return;
  if (instance->native.Defined()) {
    SetSubscript(instance->native, index, value);
  } else if (ClassAttribute(instance->cls, "__setitem__").Defined()) {
    Arguments arguments;
    arguments.positional = {index, value};
    CallMethod(object, "__setitem__", std::move(arguments));
  }
}

}  // namespace tenon::analyze
