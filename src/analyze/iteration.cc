// What a loop, an unpacking or a call of list() goes over.
#include "analyze/interpreter.h"
#include "base/error.h"

namespace tenon::analyze {

std::vector<Value> Interpreter::Iterate(const Value& value) {
  if (auto* list = value.As<ListObject>()) return list->items;
  if (auto* tuple = value.As<TupleObject>()) return tuple->items;
  if (auto* iterator = value.As<IteratorObject>()) {
    const size_t first = iterator->next;
    iterator->next = iterator->items.size();
    return {iterator->items.begin() + static_cast<std::ptrdiff_t>(first), iterator->items.end()};
  }
  std::vector<Value> items;
  if (auto* dict = value.As<DictObject>()) {
    for (const auto& entry : dict->table.entries) items.push_back(entry.first);
    return items;
  }
  if (auto* set = value.As<SetObject>()) {
    for (const auto& entry : set->table.entries) items.push_back(entry.first);
    return items;
  }
  if (value.Is(ObjectKind::kUnknown) || value.Is(ObjectKind::kExternal)) {
    if (strict) Refuse("a loop over " + Repr(value));
    return items;
  }
  if (auto* cls = value.As<ClassObject>(); cls != nullptr && cls->is_enum) {
    for (const std::string& name : cls->scope.order) {
      const Value member = ClassAttribute(cls, name);
      if (IsInstance(member, cls)) items.push_back(member);
    }
    return items;
  }
  if (auto* tensor = value.As<TensorObject>()) {
    // Unpacking a tensor selects along its first axis, whose size must be a number.
    const auto length = tensor->shape.empty() ? std::nullopt : tensor->shape[0].constant();
    if (length) {
      for (int64_t i = 0; i < *length; ++i) {
        items.push_back(Subscript(value, Value::Int(i)));
      }
      return items;
    }
    if (strict) Refuse("a loop over a tensor of unknown length");
    return items;
  }
  if (auto* instance = value.As<InstanceObject>()) {
    if (auto yielded = IterateInstance(instance)) return *std::move(yielded);
  }
  if (const std::string* text = Text(value)) {
    for (const char c : *text) items.push_back(NewString(std::string(1, c)));
    return items;
  }
  Raise("TypeError", Repr(value) + " is not iterable");
}

std::optional<std::vector<Value>> Interpreter::IterateInstance(InstanceObject* instance) {
  std::vector<Value> items;
  if (instance->native.Defined()) return Iterate(instance->native);
  if (ClassAttribute(instance->cls, "__iter__").Defined()) {
    return Iterate(CallMethod(instance, "__iter__"));
  }
  if (instance->cls->is_dataclass) {
    for (const auto& [name, unused] : DataclassFields(instance->cls)) {
      items.push_back(RequireAttribute(instance, name));
    }
    return items;
  }
  if (ClassAttribute(instance->cls, "__len__").Defined()) {
    const Value length = CallMethod(instance, "__len__");
    for (int64_t i = 0; length.IsInt() && i < length.integer; ++i) {
      items.push_back(Subscript(instance, Value::Int(i)));
    }
    return items;
  }
  return instance->open ? std::optional(items) : std::nullopt;
}

}  // namespace tenon::analyze
