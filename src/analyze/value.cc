#include "analyze/value.h"

#include <fmt/format.h>

#include <cmath>

namespace tenon::analyze {
namespace {

size_t Mix(size_t a, size_t b) { return a * 0x9E3779B97F4A7C15u + b; }

bool SameItems(const std::vector<Value>& a, const std::vector<Value>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!Equal(a[i], b[i])) return false;
  }
  return true;
}

bool SameTable(Table& a, Table& b) {
  if (a.entries.size() != b.entries.size()) return false;
  for (const auto& [key, value] : a.entries) {
    const Value* other = b.Find(key);
    if (other == nullptr || !(Identical(*other, value) || Equal(*other, value))) return false;
  }
  return true;
}

bool SameObject(Object* a, Object* b) {
  if (a == b) return true;
  if (a->kind != b->kind) return false;
  switch (a->kind) {
    case ObjectKind::kString:
      return static_cast<StringObject*>(a)->text == static_cast<StringObject*>(b)->text;
    case ObjectKind::kList:
      return SameItems(static_cast<ListObject*>(a)->items, static_cast<ListObject*>(b)->items);
    case ObjectKind::kTuple:
      return SameItems(static_cast<TupleObject*>(a)->items, static_cast<TupleObject*>(b)->items);
    case ObjectKind::kDict:
      return SameTable(static_cast<DictObject*>(a)->table, static_cast<DictObject*>(b)->table);
    case ObjectKind::kSet:
      return SameTable(static_cast<SetObject*>(a)->table, static_cast<SetObject*>(b)->table);
    case ObjectKind::kExternal:
      return static_cast<ExternalObject*>(a)->name == static_cast<ExternalObject*>(b)->name;
    case ObjectKind::kSymbolic:
      return static_cast<SymbolicObject*>(a)->dim == static_cast<SymbolicObject*>(b)->dim;
    case ObjectKind::kBoundMethod: {
      auto* left = static_cast<BoundMethodObject*>(a);
      auto* right = static_cast<BoundMethodObject*>(b);
      return Identical(left->self, right->self) && Identical(left->function, right->function);
    }
    default:
      return false;
  }
}

std::string Items(const std::vector<Value>& items) {
  std::string text;
  for (size_t i = 0; i < items.size(); ++i) text += (i == 0 ? "" : ", ") + Repr(items[i]);
  return text;
}

std::string QuotedText(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else {
      if (c == '\'' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + "'";
}

std::string ObjectRepr(Object* object) {
  switch (object->kind) {
    case ObjectKind::kString:
      return QuotedText(static_cast<StringObject*>(object)->text);
    case ObjectKind::kList:
      return "[" + Items(static_cast<ListObject*>(object)->items) + "]";
    case ObjectKind::kTuple: {
      const auto& items = static_cast<TupleObject*>(object)->items;
      return "(" + Items(items) + (items.size() == 1 ? ",)" : ")");
    }
    case ObjectKind::kDict: {
      std::string text;
      for (const auto& [key, value] : static_cast<DictObject*>(object)->table.entries) {
        text += (text.empty() ? "" : ", ") + Repr(key) + ": " + Repr(value);
      }
      return "{" + text + "}";
    }
    case ObjectKind::kSet: {
      std::string text;
      for (const auto& entry : static_cast<SetObject*>(object)->table.entries) {
        text += (text.empty() ? "" : ", ") + Repr(entry.first);
      }
      return text.empty() ? "set()" : "{" + text + "}";
    }
    case ObjectKind::kUnknown:
      return static_cast<UnknownObject*>(object)->expression;
    case ObjectKind::kSymbolic:
      return static_cast<SymbolicObject*>(object)->dim.text();
    case ObjectKind::kTensor:
      return "Tensor" + DimsText(static_cast<TensorObject*>(object)->shape);
    case ObjectKind::kClass:
      return "<class '" + static_cast<ClassObject*>(object)->name + "'>";
    case ObjectKind::kFunction:
      return static_cast<FunctionObject*>(object)->qualified;
    case ObjectKind::kInstance: {
      auto* instance = static_cast<InstanceObject*>(object);
      if (instance->native.Defined()) return Repr(instance->native);
      return instance->label.empty() ? instance->cls->name + "()" : instance->label;
    }
    case ObjectKind::kModule:
      return static_cast<ModuleObject*>(object)->name;
    case ObjectKind::kExternal:
      return static_cast<ExternalObject*>(object)->name;
    case ObjectKind::kBuiltin:
      return static_cast<BuiltinObject*>(object)->name;
    default:
      return "<object>";
  }
}

}  // namespace

bool Identical(const Value& a, const Value& b) {
  if (a.tag != b.tag) return false;
  switch (a.tag) {
    case Value::Tag::kBool:
      return a.boolean == b.boolean;
    case Value::Tag::kInt:
      return a.integer == b.integer;
    case Value::Tag::kFloat:
      return a.real == b.real;
    case Value::Tag::kObject:
      if (a.object == b.object) return true;
      // Externals, enumeration-like names and strings are interned in Python.
      return (a.Is(ObjectKind::kExternal) || a.Is(ObjectKind::kString)) &&
             SameObject(a.object, b.object);
    default:
      return true;
  }
}

bool Equal(const Value& a, const Value& b) {
  if (a.IsNumber() && b.IsNumber()) {
    return a.IsFloat() || b.IsFloat() ? a.AsReal() == b.AsReal() : a.AsInt() == b.AsInt();
  }
  Value left = a;
  Value right = b;
  if (auto* instance = a.As<InstanceObject>(); instance && instance->native.Defined()) {
    left = instance->native;
  }
  if (auto* instance = b.As<InstanceObject>(); instance && instance->native.Defined()) {
    right = instance->native;
  }
  if (left.IsNumber() && right.IsNumber()) return left.AsReal() == right.AsReal();
  if (left.tag != right.tag) return false;
  if (left.tag != Value::Tag::kObject) return true;
  return SameObject(left.object, right.object);
}

size_t Hash(const Value& value) {
  if (value.IsNumber()) {
    const double real = value.AsReal();
    return std::hash<double>()(real == 0 ? 0.0 : real);
  }
  if (value.tag != Value::Tag::kObject) return static_cast<size_t>(value.tag);
  if (const std::string* text = Text(value)) return std::hash<std::string>()(*text);
  if (const auto* external = value.As<ExternalObject>()) {
    return std::hash<std::string>()(external->name);
  }
  if (const auto* tuple = value.As<TupleObject>()) {
    size_t hash = 7;
    for (const Value& item : tuple->items) hash = Mix(hash, Hash(item));
    return hash;
  }
  if (const auto* instance = value.As<InstanceObject>(); instance && instance->native.Defined()) {
    return Hash(instance->native);
  }
  return std::hash<const void*>()(value.object);
}

const std::string* Text(const Value& value) {
  if (const auto* text = value.As<StringObject>()) return &text->text;
  const auto* instance = value.As<InstanceObject>();
  if (instance != nullptr && instance->native.Is(ObjectKind::kString)) {
    return &static_cast<StringObject*>(instance->native.object)->text;
  }
  return nullptr;
}

std::string FloatText(double value) {
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (std::isnan(value)) return "nan";
  const double magnitude = std::fabs(value);
  if (magnitude != 0 && (magnitude < 1e-4 || magnitude >= 1e16)) {
    std::string text = fmt::format("{}", value);
    return text;
  }
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string Repr(const Value& value) {
  switch (value.tag) {
    case Value::Tag::kUndefined:
      return "<undefined>";
    case Value::Tag::kNone:
      return "None";
    case Value::Tag::kBool:
      return value.boolean ? "True" : "False";
    case Value::Tag::kInt:
      return std::to_string(value.integer);
    case Value::Tag::kFloat:
      return FloatText(value.real);
    case Value::Tag::kEllipsis:
      return "...";
    case Value::Tag::kObject:
      return ObjectRepr(value.object);
  }
  return "";
}

std::string Str(const Value& value) {
  const std::string* text = Text(value);
  return text != nullptr ? *text : Repr(value);
}

Value* Table::Find(const Value& key) {
  if (entries.size() <= 8) {
    for (auto& [known, value] : entries) {
      if (Identical(known, key) || Equal(known, key)) return &value;
    }
    return nullptr;
  }
  const auto [first, last] = index_.equal_range(Hash(key));
  for (auto it = first; it != last; ++it) {
    auto& [known, value] = entries[it->second];
    if (Identical(known, key) || Equal(known, key)) return &value;
  }
  return nullptr;
}

void Table::Set(const Value& key, const Value& value) {
  if (Value* known = Find(key)) {
    *known = value;
    return;
  }
  entries.emplace_back(key, value);
  if (entries.size() == 9) {
    Reindex();
  } else if (entries.size() > 9) {
    index_.emplace(Hash(key), entries.size() - 1);
  }
}

bool Table::Erase(const Value& key) {
  const Value* found = Find(key);
  if (found == nullptr) return false;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (&entries[i].second != found) continue;
    entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(i));
    break;
  }
  Reindex();
  return true;
}

void Table::Reindex() {
  index_.clear();
  if (entries.size() <= 8) return;
  for (size_t i = 0; i < entries.size(); ++i) index_.emplace(Hash(entries[i].first), i);
}

}  // namespace tenon::analyze
