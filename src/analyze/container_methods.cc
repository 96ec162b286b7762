// Methods of list, tuple, dict and set. The object is the first positional argument.
#include <algorithm>

#include "analyze/interpreter.h"

namespace tenon::analyze {
namespace {

using In = Interpreter&;
using Args = Arguments&;

Value At(Args a, size_t i) { return i < a.positional.size() ? a.positional[i] : Value(); }

std::vector<Value>& Items(Args a) { return a.positional[0].As<ListObject>()->items; }

Value Append(In, Args a) {
  Items(a).push_back(At(a, 1));
  return Value::None();
}

Value Extend(In in, Args a) {
  for (const Value& item : in.Iterate(At(a, 1))) Items(a).push_back(item);
  return Value::None();
}

Value Insert(In, Args a) {
  auto& items = Items(a);
  const auto size = static_cast<int64_t>(items.size());
  const int64_t at = std::clamp<int64_t>(At(a, 1).AsInt(), 0, size);
  items.insert(items.begin() + at, At(a, 2));
  return Value::None();
}

Value PopList(In in, Args a) {
  auto& items = Items(a);
  if (items.empty()) in.Raise("IndexError", "pop from empty list");
  const auto size = static_cast<int64_t>(items.size());
  int64_t at = At(a, 1).IsInt() ? At(a, 1).integer : -1;
  if (at < 0) at += size;
  if (at < 0 || at >= size) in.Raise("IndexError", "pop index out of range");
  const Value value = items[static_cast<size_t>(at)];
  items.erase(items.begin() + at);
  return value;
}

Value RemoveItem(In, Args a) {
  auto& items = Items(a);
  for (size_t i = 0; i < items.size(); ++i) {
    if (!Equal(items[i], At(a, 1))) continue;
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(i));
    break;
  }
  return Value::None();
}

Value ReverseList(In, Args a) {
  std::reverse(Items(a).begin(), Items(a).end());
  return Value::None();
}

Value SortList(In in, Args a) {
  const Value sorted = Builtins().at("sorted")(in, a);
  Items(a) = in.Iterate(sorted);
  return Value::None();
}

Value CopyList(In in, Args a) { return in.NewList(Items(a)); }

Value ClearList(In, Args a) {
  Items(a).clear();
  return Value::None();
}

Value IndexOf(In in, Args a) {
  const std::vector<Value> items = in.Iterate(At(a, 0));
  for (size_t i = 0; i < items.size(); ++i) {
    if (Equal(items[i], At(a, 1))) return Value::Int(static_cast<int64_t>(i));
  }
  in.Raise("ValueError", Repr(At(a, 1)) + " is not in the sequence");
}

Value CountItems(In in, Args a) {
  int64_t count = 0;
  for (const Value& item : in.Iterate(At(a, 0))) count += Equal(item, At(a, 1)) ? 1 : 0;
  return Value::Int(count);
}

Table& Entries(Args a) { return a.positional[0].As<DictObject>()->table; }

Value Get(In, Args a) {
  if (const Value* found = Entries(a).Find(At(a, 1))) return *found;
  const Value fallback = Argument(a, 2, "default");
  return fallback.Defined() ? fallback : Value::None();
}

Value Keys(In in, Args a) {
  std::vector<Value> keys;
  for (const auto& entry : Entries(a).entries) keys.push_back(entry.first);
  return in.NewList(std::move(keys));
}

Value Values(In in, Args a) {
  std::vector<Value> values;
  for (const auto& entry : Entries(a).entries) values.push_back(entry.second);
  return in.NewList(std::move(values));
}

Value Pairs(In in, Args a) {
  std::vector<Value> pairs;
  for (const auto& [key, value] : Entries(a).entries) pairs.push_back(in.NewTuple({key, value}));
  return in.NewList(std::move(pairs));
}

Value UpdateDict(In in, Args a) {
  Arguments rest = a;
  rest.positional.erase(rest.positional.begin());
  const Value added = Builtins().at("dict")(in, rest);
  for (const auto& [key, value] : added.As<DictObject>()->table.entries) {
    Entries(a).Set(key, value);
  }
  return Value::None();
}

Value SetDefault(In, Args a) {
  if (const Value* found = Entries(a).Find(At(a, 1))) return *found;
  const Value value = At(a, 2).Defined() ? At(a, 2) : Value::None();
  Entries(a).Set(At(a, 1), value);
  return value;
}

Value PopDict(In in, Args a) {
  if (const Value* found = Entries(a).Find(At(a, 1))) {
    const Value value = *found;
    Entries(a).Erase(At(a, 1));
    return value;
  }
  if (At(a, 2).Defined()) return At(a, 2);
  in.Raise("KeyError", Repr(At(a, 1)));
}

Value CopyDict(In in, Args a) {
  auto* copy = in.heap.New<DictObject>();
  copy->table = Entries(a);
  return copy;
}

Value FromKeys(In in, Args a) {
  auto* dict = in.heap.New<DictObject>();
  const Value value = At(a, 1).Defined() ? At(a, 1) : Value::None();
  for (const Value& key : in.Iterate(At(a, 0))) dict->table.Set(key, value);
  return dict;
}

Table& Members(Args a) { return a.positional[0].As<SetObject>()->table; }

Value AddMember(In, Args a) {
  Members(a).Set(At(a, 1), Value::None());
  return Value::None();
}

Value DiscardMember(In, Args a) {
  Members(a).Erase(At(a, 1));
  return Value::None();
}

Value UpdateSet(In in, Args a) {
  for (const Value& item : in.Iterate(At(a, 1))) Members(a).Set(item, Value::None());
  return Value::None();
}

Value Union(In in, Args a) {
  auto* set = in.heap.New<SetObject>();
  for (const Value& one : a.positional) {
    for (const Value& item : in.Iterate(one)) set->table.Set(item, Value::None());
  }
  return set;
}

Value IsSubset(In in, Args a) {
  const std::vector<Value> other = in.Iterate(At(a, 1));
  for (const auto& entry : Members(a).entries) {
    const bool found = std::any_of(other.begin(), other.end(),
                                   [&](const Value& item) { return Equal(item, entry.first); });
    if (!found) return Value::Bool(false);
  }
  return Value::Bool(true);
}

Value IsDisjoint(In in, Args a) {
  for (const Value& item : in.Iterate(At(a, 1))) {
    if (Members(a).Find(item) != nullptr) return Value::Bool(false);
  }
  return Value::Bool(true);
}

Value SameNumber(In, Args a) { return a.positional[0]; }

Value BitLength(In, Args a) {
  int64_t bits = 0;
  for (int64_t v = a.positional[0].AsInt(); v > 0; v >>= 1) ++bits;
  return Value::Int(bits);
}

Value IsInteger(In, Args a) {
  const double v = a.positional[0].AsReal();
  return Value::Bool(v == static_cast<double>(static_cast<int64_t>(v)));
}

}  // namespace

// string_methods.cc
void AddStringMethods(std::unordered_map<std::string, NativeFunction>* table);

NativeFunction ContainerMethod(const std::string& key) {
  static const auto* const table = [] {
    auto* map =
        new std::unordered_map<std::string, NativeFunction>{{"list.append", Append},
                                                            {"list.extend", Extend},
                                                            {"list.insert", Insert},
                                                            {"list.pop", PopList},
                                                            {"list.remove", RemoveItem},
                                                            {"list.reverse", ReverseList},
                                                            {"list.sort", SortList},
                                                            {"list.copy", CopyList},
                                                            {"list.clear", ClearList},
                                                            {"list.index", IndexOf},
                                                            {"list.count", CountItems},
                                                            {"tuple.index", IndexOf},
                                                            {"tuple.count", CountItems},
                                                            {"dict.get", Get},
                                                            {"dict.keys", Keys},
                                                            {"dict.values", Values},
                                                            {"dict.items", Pairs},
                                                            {"dict.update", UpdateDict},
                                                            {"dict.setdefault", SetDefault},
                                                            {"dict.pop", PopDict},
                                                            {"dict.copy", CopyDict},
                                                            {"dict.fromkeys", FromKeys},
                                                            {"set.add", AddMember},
                                                            {"set.discard", DiscardMember},
                                                            {"set.remove", DiscardMember},
                                                            {"set.update", UpdateSet},
                                                            {"set.union", Union},
                                                            {"set.issubset", IsSubset},
                                                            {"set.isdisjoint", IsDisjoint},
                                                            {"int.item", SameNumber},
                                                            {"float.item", SameNumber},
                                                            {"int.bit_length", BitLength},
                                                            {"float.is_integer", IsInteger}};
    AddStringMethods(map);
    return map;
  }();
  const auto found = table->find(key);
  return found == table->end() ? nullptr : found->second;
}

}  // namespace tenon::analyze
