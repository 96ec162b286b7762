// int, float, str, list ... as callables, and the intrinsics of stand-in texts.
#include <fmt/format.h>

#include <cstdlib>

#include "analyze/config_class.h"
#include "analyze/interpreter.h"
#include "analyze/layers.h"

namespace tenon::analyze {
namespace {

using In = Interpreter&;
using Args = Arguments&;

Value First(Args a) { return Argument(a, 0, ""); }

Value IntType(In in, Args a) {
  const Value x = First(a);
  if (!x.Defined()) return Value::Int(0);
  if (x.IsNumber()) return Value::Int(x.AsInt());
  if (const std::string* text = Text(x)) {
    char* end = nullptr;
    const long long value = std::strtoll(text->c_str(), &end, 10);
    if (text->empty() || *end != '\0') {
      in.Raise("ValueError", "invalid literal for int(): " + Repr(x));
    }
    return Value::Int(value);
  }
  const auto* instance = x.As<InstanceObject>();
  if (instance != nullptr && instance->native.IsNumber()) {
    return Value::Int(instance->native.AsInt());
  }
  if (x.Is(ObjectKind::kSymbolic)) return x;
  return in.NewUnknown("int(" + Repr(x) + ")");
}

Value FloatType(In in, Args a) {
  const Value x = First(a);
  if (!x.Defined()) return Value::Float(0);
  if (x.IsNumber()) return Value::Float(x.AsReal());
  if (const std::string* text = Text(x)) {
    char* end = nullptr;
    const double value = std::strtod(text->c_str(), &end);
    if (text->empty() || *end != '\0') {
      in.Raise("ValueError", "could not convert string to float: " + Repr(x));
    }
    return Value::Float(value);
  }
  return in.NewUnknown("float(" + Repr(x) + ")");
}

Value BoolType(In in, Args a) {
  if (a.positional.empty()) return Value::Bool(false);
  const auto known = in.KnownTruth(First(a));
  return known ? Value::Bool(*known) : in.NewUnknown("bool(" + Repr(First(a)) + ")");
}

Value StrType(In in, Args a) {
  const Value x = First(a);
  if (!x.Defined()) return in.NewString("");
  if (x.Is(ObjectKind::kUnknown)) return in.NewUnknown("str(" + Repr(x) + ")");
  const auto* instance = x.As<InstanceObject>();
  if (instance != nullptr && in.ClassAttribute(instance->cls, "__str__").Defined()) {
    return in.CallMethod(x, "__str__");
  }
  return in.NewString(Str(x));
}

Value ListType(In in, Args a) {
  return in.NewList(a.positional.empty() ? std::vector<Value>{} : in.Iterate(First(a)));
}

Value TupleType(In in, Args a) {
  return in.NewTuple(a.positional.empty() ? std::vector<Value>{} : in.Iterate(First(a)));
}

Value DictType(In in, Args a) {
  auto* dict = in.heap.New<DictObject>();
  if (!a.positional.empty()) {
    Value source = First(a);
    const auto* instance = source.As<InstanceObject>();
    if (instance != nullptr && instance->native.Is(ObjectKind::kDict)) source = instance->native;
    if (const auto* other = source.As<DictObject>()) {
      dict->table = other->table;
    } else {
      for (const Value& pair : in.Iterate(source)) {
        const std::vector<Value> items = in.Iterate(pair);
        if (items.size() == 2) dict->table.Set(items[0], items[1]);
      }
    }
  }
  for (const auto& [key, value] : a.keywords) dict->table.Set(in.NewString(key), value);
  return dict;
}

Value SetType(In in, Args a) {
  auto* set = in.heap.New<SetObject>();
  if (!a.positional.empty()) {
    for (const Value& item : in.Iterate(First(a))) set->table.Set(item, Value::None());
  }
  return set;
}

Value TypeType(In in, Args a) {
  const Value x = First(a);
  if (a.positional.size() == 1) {
    if (const auto* instance = x.As<InstanceObject>()) return instance->cls;
    const char* name = Text(x) != nullptr          ? "str"
                       : x.IsBool()                ? "bool"
                       : x.IsInt()                 ? "int"
                       : x.IsFloat()               ? "float"
                       : x.Is(ObjectKind::kList)   ? "list"
                       : x.Is(ObjectKind::kTuple)  ? "tuple"
                       : x.Is(ObjectKind::kDict)   ? "dict"
                       : x.Is(ObjectKind::kTensor) ? "torch.Tensor"
                                                   : "type";
    return in.NewExternal(name);
  }
  return in.NewUnknown("type(...)");
}

Value ObjectType(In in, Args) { return in.NewUnknown("object()"); }

// --- Intrinsics: what stand-in texts use to reach the analyser.

Value Option(In in, Args a) {
  const std::string name = Str(First(a));
  if (name == "platform") return in.NewString(in.platform.name);
  if (name == "sm") return Value::Int(in.platform.sm);
  if (name == "tp") return Value::Int(in.platform.tp);
  if (name == "dtype") return in.NewExternal("torch." + in.platform.dtype);
  const auto fact = in.platform.facts.find(name);
  if (fact != in.platform.facts.end()) return in.FromAttr(fact->second);
  return a.positional.size() > 1 ? a.positional[1] : Value::None();
}

Value BlankInstance(In in, Args a) {
  auto* cls = First(a).As<ClassObject>();
  if (cls == nullptr) return in.NewUnknown("blank(...)");
  InstanceObject* instance = in.Blank(cls);
  for (const auto& [key, value] : a.keywords) instance->attributes.emplace_back(key, value);
  return instance;
}

Value AdoptChild(In in, Args a) {
  in.Adopt(First(a).As<InstanceObject>(), Str(a.positional.at(1)), a.positional.at(2));
  return Value::None();
}

Value MakePartial(In in, Args a) {
  auto* partial = in.heap.New<PartialObject>();
  partial->function = First(a);
  partial->arguments = a;
  partial->arguments.positional.erase(partial->arguments.positional.begin());
  return partial;
}

Value DefaultDict(In in, Args a) {
  auto* dict = in.heap.New<DictObject>();
  if (!a.positional.empty() && !First(a).IsNone()) dict->default_factory = First(a);
  return dict;
}

Value DeepCopy(In in, Args a) {
  const auto copy = [&](const Value& value, auto&& self) -> Value {
    std::vector<Value> items;
    if (value.Is(ObjectKind::kList) || value.Is(ObjectKind::kTuple)) {
      for (const Value& item : in.Iterate(value)) items.push_back(self(item, self));
      return value.Is(ObjectKind::kList) ? in.NewList(items) : in.NewTuple(items);
    }
    if (const auto* dict = value.As<DictObject>()) {
      auto* fresh = in.heap.New<DictObject>();
      fresh->default_factory = dict->default_factory;
      for (const auto& [key, item] : dict->table.entries) fresh->table.Set(key, self(item, self));
      return fresh;
    }
    const auto* instance = value.As<InstanceObject>();
    if (instance == nullptr || instance->cls->is_enum) return value;
    auto* fresh = in.Blank(instance->cls);
    fresh->open = instance->open;
    fresh->label = instance->label;
    fresh->native = instance->native;
    fresh->later_class = instance->later_class;
    for (const auto& [key, item] : instance->attributes) {
      fresh->attributes.emplace_back(key, self(item, self));
    }
    return fresh;
  };
  return copy(First(a), copy);
}

// The attributes of a module that are modules, in order: children(self).
Value Children(In in, Args a) {
  auto* dict = in.heap.New<DictObject>();
  const auto* instance = First(a).As<InstanceObject>();
  if (instance == nullptr) return dict;
  for (const auto& [key, value] : instance->attributes) {
    if (in.IsModule(value)) dict->table.Set(in.NewString(key), value);
  }
  return dict;
}

// Annotated fields of a class and its bases, with the defaults of those that have one.
Value Fields(In in, Args a) {
  auto* dict = in.heap.New<DictObject>();
  for (const auto& [name, fallback] : in.DataclassFields(First(a).As<ClassObject>())) {
    const auto* factory = fallback.As<InstanceObject>();
    const bool made = factory != nullptr && factory->cls->name == "DefaultFactory";
    if (fallback.Defined()) {
      dict->table.Set(in.NewString(name), made ? in.CallMethod(fallback, "make") : fallback);
    }
  }
  return dict;
}

// (name, kind, default) of each parameter; kind is "positional", "keyword", "star", "double_star".
Value Parameters(In in, Args a) {
  Value callee = First(a);
  if (const auto* bound = callee.As<BoundMethodObject>()) callee = bound->function;
  if (auto* cls = callee.As<ClassObject>()) callee = in.ClassAttribute(cls, "__init__");
  const auto* function = callee.As<FunctionObject>();
  if (function == nullptr) return Value::None();
  std::vector<Value> list;
  const auto& parameters = function->node->kids[0]->kids;
  for (size_t i = 0; i < parameters.size(); ++i) {
    static constexpr const char* kKinds[] = {"positional", "keyword", "star", "double_star"};
    const Value fallback = function->defaults[i];
    list.push_back(in.NewTuple({in.NewString(parameters[i]->text),
                                in.NewString(kKinds[parameters[i]->integer]),
                                fallback.Defined() ? fallback : Value::Ellipsis()}));
  }
  return in.NewList(std::move(list));
}

Value ArchitectureOf(In in, Args a) {
  const std::string* type = Text(First(a));
  const std::string name = type == nullptr ? "" : ArchitectureOfModelType(in, *type);
  return name.empty() ? Value::None() : in.NewString(name);
}

Value ModuleExists(In in, Args a) { return Value::Bool(in.Exists(Str(First(a)))); }

Value ImportModule(In in, Args a) { return in.Import(Str(First(a))); }

Value ConfigClassOf(In in, Args a) {
  const Value cls = Text(First(a)) == nullptr ? Value() : ClassOfModelType(in, Str(First(a)));
  return cls.Defined() ? cls : Value::None();
}

// A layer of layers.def: its constructor arguments become attributes of the same names.
Value BindArguments(In in, Args a) {
  const Value self = First(a);
  auto* instance = self.As<InstanceObject>();
  ClassObject* listed = nullptr;
  for (Object* entry : instance->cls->linearisation) {
    if (entry->kind != ObjectKind::kClass) continue;
    auto* cls = static_cast<ClassObject*>(entry);
    if (cls->layer_row >= 0 && listed == nullptr) listed = cls;
  }
  if (listed == nullptr) return Value::None();
  const Layer& layer = LayerTable()[static_cast<size_t>(listed->layer_row)];
  instance->attributes.emplace_back("layer_op", in.NewString(std::string(layer.op)));
  const Value init = in.ClassAttribute(listed, "__init__", nullptr, nullptr, true);
  const auto* function = init.As<FunctionObject>();
  if (function == nullptr) return Value::None();
  Arguments arguments;
  arguments.positional = in.Iterate(a.positional.at(1));
  arguments.positional.insert(arguments.positional.begin(), self);
  for (const auto& [key, value] : a.positional.at(2).As<DictObject>()->table.entries) {
    arguments.keywords.emplace_back(Str(key), value);
  }
  for (const auto& [name, value] : in.Bind(function, std::move(arguments))) {
    if (name == "self") continue;
    in.SetAttribute(self, name, value);
    // What the class hands on to its base by **kwargs.
    const auto* rest = value.As<DictObject>();
    if (rest == nullptr || name != "kwargs") continue;
    for (const auto& [key, item] : rest->table.entries) in.SetAttribute(self, Str(key), item);
  }
  return Value::None();
}

}  // namespace

void AddBuiltinTypes(std::unordered_map<std::string, NativeFunction>* table) {
  table->insert({{"int", IntType},
                 {"float", FloatType},
                 {"bool", BoolType},
                 {"str", StrType},
                 {"list", ListType},
                 {"tuple", TupleType},
                 {"dict", DictType},
                 {"set", SetType},
                 {"frozenset", SetType},
                 {"type", TypeType},
                 {"object", ObjectType},
                 {"bytes", nullptr},
                 {"complex", nullptr},
                 {"NotImplemented", nullptr},
                 {"__import__", nullptr}});
}

// Defined in emit.cc.
void AddEmitIntrinsics(std::unordered_map<std::string, NativeFunction>* table);

const std::unordered_map<std::string, NativeFunction>& Intrinsics() {
  static const auto* const table = [] {
    auto* map =
        new std::unordered_map<std::string, NativeFunction>{{"__option__", Option},
                                                            {"__blank__", BlankInstance},
                                                            {"__adopt__", AdoptChild},
                                                            {"__partial__", MakePartial},
                                                            {"__defaultdict__", DefaultDict},
                                                            {"__deepcopy__", DeepCopy},
                                                            {"__children__", Children},
                                                            {"__bind__", BindArguments},
                                                            {"__fields__", Fields},
                                                            {"__config_class__", ConfigClassOf},
                                                            {"__exists__", ModuleExists},
                                                            {"__parameters__", Parameters},
                                                            {"__architecture_of__", ArchitectureOf},
                                                            {"__import_module__", ImportModule}};
    AddEmitIntrinsics(map);
    return map;
  }();
  return *table;
}

}  // namespace tenon::analyze
