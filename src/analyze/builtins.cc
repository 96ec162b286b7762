// Python's built-in functions, over the values that the interpreter knows.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "analyze/interpreter.h"

namespace tenon::analyze {
namespace {

using In = Interpreter&;
using Args = Arguments&;

Value First(Args a) { return Argument(a, 0, ""); }
Value Second(Args a) { return Argument(a, 1, ""); }

Value Len(In in, Args a) {
  const Value x = First(a);
  if (const std::string* text = Text(x)) return Value::Int(static_cast<int64_t>(text->size()));
  if (const auto* tensor = x.As<TensorObject>()) {
    return tensor->shape.empty() ? Value::Int(0) : in.FromDim(tensor->shape[0]);
  }
  const auto* instance = x.As<InstanceObject>();
  if (instance != nullptr && in.ClassAttribute(instance->cls, "__len__").Defined()) {
    return in.CallMethod(x, "__len__");
  }
  if (x.Is(ObjectKind::kUnknown) || x.Is(ObjectKind::kExternal) ||
      (instance != nullptr && instance->open)) {
    return in.NewUnknown("len(" + Repr(x) + ")");
  }
  return Value::Int(static_cast<int64_t>(in.Iterate(x).size()));
}

Value Range(In in, Args a) {
  std::vector<int64_t> bounds;
  for (const Value& v : a.positional) {
    if (!v.IsInt() && !v.IsBool()) {
      if (in.strict) in.Refuse("range over " + Repr(v));
      return in.NewUnknown("range(" + Repr(v) + ")");
    }
    bounds.push_back(v.AsInt());
  }
  const int64_t start = bounds.size() > 1 ? bounds[0] : 0;
  const int64_t stop = bounds.size() > 1 ? bounds[1] : bounds[0];
  const int64_t step = bounds.size() > 2 && bounds[2] != 0 ? bounds[2] : 1;
  std::vector<Value> items;
  for (int64_t i = start; step > 0 ? i < stop : i > stop; i += step) items.push_back(Value::Int(i));
  return in.NewTuple(std::move(items));
}

Value Enumerate(In in, Args a) {
  const Value start = Argument(a, 1, "start");
  int64_t index = start.Defined() ? start.AsInt() : 0;
  std::vector<Value> items;
  for (const Value& item : in.Iterate(First(a))) {
    items.push_back(in.NewTuple({Value::Int(index++), item}));
  }
  return in.NewIterator(std::move(items));
}

Value Zip(In in, Args a) {
  std::vector<std::vector<Value>> columns;
  size_t rows = a.positional.empty() ? 0 : SIZE_MAX;
  for (const Value& v : a.positional) {
    columns.push_back(in.Iterate(v));
    rows = std::min(rows, columns.back().size());
  }
  std::vector<Value> items;
  for (size_t i = 0; i < rows; ++i) {
    std::vector<Value> row;
    row.reserve(columns.size());
    for (const auto& column : columns) row.push_back(column[i]);
    items.push_back(in.NewTuple(std::move(row)));
  }
  return in.NewIterator(std::move(items));
}

Value Map(In in, Args a) {
  std::vector<Value> items;
  for (const Value& item : in.Iterate(Second(a))) {
    Arguments one;
    one.positional = {item};
    items.push_back(in.Call(First(a), std::move(one)));
  }
  return in.NewIterator(std::move(items));
}

Value Filter(In in, Args a) {
  std::vector<Value> items;
  for (const Value& item : in.Iterate(Second(a))) {
    Arguments one;
    one.positional = {item};
    const Value keep = First(a).IsNone() ? item : in.Call(First(a), std::move(one));
    if (in.KnownTruth(keep).value_or(true)) items.push_back(item);
  }
  return in.NewIterator(std::move(items));
}

Value Reversed(In in, Args a) {
  std::vector<Value> items = in.Iterate(First(a));
  std::reverse(items.begin(), items.end());
  return in.NewIterator(std::move(items));
}

Value Sorted(In in, Args a) {
  std::vector<Value> items = in.Iterate(First(a));
  const Value key = Argument(a, 99, "key");
  std::vector<std::pair<Value, Value>> keyed;
  for (const Value& item : items) {
    Arguments one;
    one.positional = {item};
    const bool plain = !key.Defined() || key.IsNone();
    keyed.emplace_back(plain ? item : in.Call(key, std::move(one)), item);
  }
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& x, const auto& y) {
    return in.KnownTruth(in.Compare(Operator::kLt, x.first, y.first)).value_or(false);
  });
  items.clear();
  for (const auto& entry : keyed) items.push_back(entry.second);
  const Value reverse = Argument(a, 99, "reverse");
  if (reverse.Defined() && in.KnownTruth(reverse).value_or(false)) {
    std::reverse(items.begin(), items.end());
  }
  return in.NewList(std::move(items));
}

Value Extreme(In in, Args a, Operator op) {
  const std::vector<Value> items =
      a.positional.size() == 1 ? in.Iterate(a.positional[0]) : a.positional;
  const Value fallback = Argument(a, 99, "default");
  if (items.empty()) {
    if (fallback.Defined()) return fallback;
    return in.NewUnknown("max()");
  }
  const Value key = Argument(a, 99, "key");
  const auto rank = [&](const Value& item) {
    Arguments one;
    one.positional = {item};
    return key.Defined() ? in.Call(key, std::move(one)) : item;
  };
  Value best = items[0];
  for (size_t i = 1; i < items.size(); ++i) {
    const auto better = in.KnownTruth(in.Compare(op, rank(items[i]), rank(best)));
    if (!better) return in.NewUnknown(op == Operator::kGt ? "max(...)" : "min(...)");
    if (*better) best = items[i];
  }
  return best;
}

Value Max(In in, Args a) { return Extreme(in, a, Operator::kGt); }
Value Min(In in, Args a) { return Extreme(in, a, Operator::kLt); }

Value Sum(In in, Args a) {
  Value total = Argument(a, 1, "start");
  if (!total.Defined()) total = Value::Int(0);
  for (const Value& item : in.Iterate(First(a))) total = in.Binary(Operator::kAdd, total, item);
  return total;
}

Value AnyAll(In in, Args a, bool any) {
  bool unknown = false;
  for (const Value& item : in.Iterate(First(a))) {
    const auto known = in.KnownTruth(item);
    if (!known) {
      unknown = true;
    } else if (*known == any) {
      return Value::Bool(any);
    }
  }
  const char* name = any ? "any(...)" : "all(...)";
  return unknown || First(a).Is(ObjectKind::kUnknown) ? in.NewUnknown(name) : Value::Bool(!any);
}

Value Any(In in, Args a) { return AnyAll(in, a, true); }
Value All(In in, Args a) { return AnyAll(in, a, false); }

Value Abs(In in, Args a) {
  const Value x = First(a);
  if (x.IsFloat()) return Value::Float(std::fabs(x.real));
  if (x.IsNumber()) return Value::Int(std::abs(x.AsInt()));
  return x.Is(ObjectKind::kTensor) ? in.CallMethod(x, "abs") : in.NewUnknown("abs(...)");
}

Value Round(In in, Args a) {
  const Value x = First(a);
  if (!x.IsNumber()) return in.NewUnknown("round(...)");
  const Value digits = Second(a);
  if (!digits.Defined() || !digits.IsInt()) {
    return Value::Int(static_cast<int64_t>(std::nearbyint(x.AsReal())));
  }
  const double scale = std::pow(10.0, double(digits.integer));
  return Value::Float(std::nearbyint(x.AsReal() * scale) / scale);
}

Value DivMod(In in, Args a) {
  return in.NewTuple({in.Binary(Operator::kFloorDiv, First(a), Second(a)),
                      in.Binary(Operator::kMod, First(a), Second(a))});
}

Value Pow(In in, Args a) { return in.Binary(Operator::kPow, First(a), Second(a)); }

Value IsInstanceFunction(In in, Args a) {
  const Value value = First(a);
  if (value.Is(ObjectKind::kUnknown)) return in.NewUnknown("isinstance(" + Repr(value) + ", ...)");
  return Value::Bool(in.IsInstance(value, Second(a)));
}

Value IsSubclassFunction(In in, Args a) {
  const auto* cls = First(a).As<ClassObject>();
  if (cls == nullptr) return Value::Bool(Identical(First(a), Second(a)));
  return Value::Bool(in.IsSubclass(cls, Second(a)));
}

Value Callable(In in, Args a) {
  const Value x = First(a);
  const auto* instance = x.As<InstanceObject>();
  if (instance != nullptr) {
    return Value::Bool(in.ClassAttribute(instance->cls, "__call__").Defined());
  }
  return Value::Bool(x.Is(ObjectKind::kFunction) || x.Is(ObjectKind::kBoundMethod) ||
                     x.Is(ObjectKind::kPartial) || x.Is(ObjectKind::kClass) ||
                     x.Is(ObjectKind::kBuiltin) || x.Is(ObjectKind::kExternal));
}

Value Iter(In in, Args a) {
  const Value x = First(a);
  return x.Is(ObjectKind::kIterator) ? x : in.NewIterator(in.Iterate(x));
}

Value Next(In in, Args a) {
  auto* iterator = First(a).As<IteratorObject>();
  if (iterator != nullptr && iterator->next < iterator->items.size()) {
    return iterator->items[iterator->next++];
  }
  const Value fallback = Argument(a, 1, "default");
  if (fallback.Defined()) return fallback;
  if (iterator == nullptr) return in.NewUnknown("next(...)");
  in.Raise("StopIteration", "");
}

Value Print(In, Args) { return Value::None(); }
Value Id(In, Args a) {
  return Value::Int(static_cast<int64_t>(reinterpret_cast<intptr_t>(First(a).object)));
}
Value HashFunction(In, Args a) { return Value::Int(static_cast<int64_t>(Hash(First(a)) >> 2)); }
Value ReprFunction(In in, Args a) { return in.NewString(Repr(First(a))); }

Value Format(In in, Args a) {
  const std::string spec = a.positional.size() > 1 ? Str(Second(a)) : "";
  const Value x = First(a);
  if (x.IsInt() && spec.starts_with("0") && spec.ends_with("d") && spec.size() <= 4) {
    return in.NewString(fmt::format("{:0{}}", x.integer, std::atoi(spec.substr(1).c_str())));
  }
  return in.NewString(Str(x));
}

Value Vars(In in, Args a) { return in.RequireAttribute(First(a), "__dict__"); }

Value Dir(In in, Args a) {
  std::vector<Value> names;
  if (const auto* instance = First(a).As<InstanceObject>()) {
    for (const auto& [key, value] : instance->attributes) names.push_back(in.NewString(key));
  }
  return in.NewList(std::move(names));
}

Value SliceFunction(In in, Args a) {
  auto* slice = in.heap.New<SliceObject>();
  const size_t n = a.positional.size();
  slice->start = n > 1 ? a.positional[0] : Value::None();
  slice->stop = n > 1 ? a.positional[1] : First(a);
  slice->step = n > 2 ? a.positional[2] : Value::None();
  return slice;
}

Value Ord(In, Args a) {
  const std::string* text = Text(First(a));
  return Value::Int(text == nullptr || text->empty() ? 0 : static_cast<unsigned char>((*text)[0]));
}

Value Chr(In in, Args a) {
  return in.NewString(std::string(1, static_cast<char>(First(a).AsInt())));
}

Value GlobalsFunction(In in, Args) {
  const Frame* frame = in.VisibleFrame();
  auto* dict = in.heap.New<DictObject>();
  if (frame == nullptr) return dict;
  auto* module = in.Module(frame->module->name);
  if (module == nullptr || module->file == nullptr) return dict;
  for (const std::string& name : std::vector<std::string>(module->scope.order)) {
    const Value value = in.ScopeValue(&module->scope, name);
    if (value.Defined()) dict->table.Set(in.NewString(name), value);
  }
  return dict;
}

}  // namespace

// builtin_attributes.cc, builtin_types.cc
void AddBuiltinAttributes(std::unordered_map<std::string, NativeFunction>* table);
void AddBuiltinTypes(std::unordered_map<std::string, NativeFunction>* table);

const std::unordered_map<std::string, NativeFunction>& Builtins() {
  static const auto* const table = [] {
    auto* map =
        new std::unordered_map<std::string, NativeFunction>{{"len", Len},
                                                            {"range", Range},
                                                            {"enumerate", Enumerate},
                                                            {"zip", Zip},
                                                            {"map", Map},
                                                            {"filter", Filter},
                                                            {"reversed", Reversed},
                                                            {"sorted", Sorted},
                                                            {"max", Max},
                                                            {"min", Min},
                                                            {"sum", Sum},
                                                            {"any", Any},
                                                            {"all", All},
                                                            {"abs", Abs},
                                                            {"round", Round},
                                                            {"divmod", DivMod},
                                                            {"pow", Pow},
                                                            {"isinstance", IsInstanceFunction},
                                                            {"issubclass", IsSubclassFunction},
                                                            {"callable", Callable},
                                                            {"iter", Iter},
                                                            {"next", Next},
                                                            {"print", Print},
                                                            {"id", Id},
                                                            {"hash", HashFunction},
                                                            {"repr", ReprFunction},
                                                            {"format", Format},
                                                            {"vars", Vars},
                                                            {"dir", Dir},
                                                            {"slice", SliceFunction},
                                                            {"ord", Ord},
                                                            {"chr", Chr},
                                                            {"globals", GlobalsFunction},
                                                            {"locals", nullptr},
                                                            {"property", nullptr},
                                                            {"staticmethod", nullptr},
                                                            {"classmethod", nullptr}};
    AddBuiltinAttributes(map);
    AddBuiltinTypes(map);
    return map;
  }();
  return *table;
}

}  // namespace tenon::analyze
