// Classes: creation, C3 linearisation, attribute search, instances, dataclasses, enumerations.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/interpreter.h"
#include "analyze/layers.h"
#include "base/dtype.h"
#include "base/error.h"

namespace tenon::analyze {
namespace {

std::string_view NameOf(const Object* base) {
  if (base->kind == ObjectKind::kClass) return static_cast<const ClassObject*>(base)->name;
  return static_cast<const ExternalObject*>(base)->name;
}

bool Same(const Object* a, const Object* b) {
  if (a == b) return true;
  return a->kind == ObjectKind::kExternal && b->kind == ObjectKind::kExternal &&
         NameOf(a) == NameOf(b);
}

bool InTail(const std::vector<Object*>& list, const Object* candidate) {
  for (size_t i = 1; i < list.size(); ++i) {
    if (Same(list[i], candidate)) return true;
  }
  return false;
}

}  // namespace

std::vector<Object*> Interpreter::Linearise(const ClassObject* cls) {
  std::vector<std::vector<Object*>> lists;
  std::vector<Object*> direct;
  for (const Value& base : cls->bases) {
    direct.push_back(base.object);
    if (auto* base_class = base.As<ClassObject>()) {
      lists.push_back(base_class->linearisation);
    } else {
      lists.push_back({base.object});
    }
  }
  lists.push_back(direct);
  std::vector<Object*> order;
  while (true) {
    std::erase_if(lists, [](const auto& list) { return list.empty(); });
    if (lists.empty()) break;
    Object* next = nullptr;
    for (const auto& list : lists) {
      const bool blocked = std::any_of(lists.begin(), lists.end(),
                                       [&](const auto& other) { return InTail(other, list[0]); });
      if (!blocked) {
        next = list[0];
        break;
      }
    }
    if (next == nullptr) next = lists[0][0];  // inconsistent in Python, too; keep the written order
    order.push_back(next);
    for (auto& list : lists) std::erase_if(list, [&](Object* o) { return Same(o, next); });
  }
  return order;
}

Value Interpreter::MakeClass(const Node* node, Namespace* env) {
  auto* cls = heap.New<ClassObject>();
  cls->name = node->text;
  cls->node = node;
  cls->module = env->module;
  cls->qualified = env->module->name + "." + cls->name;
  cls->environment.parent = env;
  cls->environment.module = env->module;
  cls->environment.owner = cls;
  cls->environment.scope = &cls->scope;
  cls->scope.file = env->module->file;
  cls->scope.environment = &cls->environment;
  for (const Node* base : node->kids[1]->kids) {
    if (base->kind == Kind::kKeyword) continue;
    const Value value = Eval(base->kind == Kind::kStar ? base->kids[0] : base, env);
    if (value.Is(ObjectKind::kClass) || value.Is(ObjectKind::kExternal)) {
      cls->bases.push_back(value);
    } else if (const auto* builtin = value.As<BuiltinObject>()) {
      cls->bases.push_back(NewExternal(builtin->name));
    }
  }
  cls->linearisation = Linearise(cls);
  cls->linearisation.insert(cls->linearisation.begin(), cls);
  for (Object* base : cls->linearisation) {
    const std::string_view name = NameOf(base);
    cls->is_enum |= base->kind == ObjectKind::kClass && name == "Enum" &&
                    static_cast<ClassObject*>(base)->module->name == "enum";
    cls->is_dataclass |=
        name == "typing.NamedTuple" || name == "pydantic.BaseModel" ||
        (base->kind == ObjectKind::kClass && static_cast<ClassObject*>(base)->is_dataclass);
  }
  FillScope(&cls->scope, node->kids[0]);
  AttachBehaviour(cls);
  Value result = cls;
  for (size_t i = node->kids.size(); i-- > 2;) {
    const Value decorator = Eval(node->kids[i]->kids[0], env);
    cls->decorators.push_back(decorator);
    const std::string name = cls->module->file->Excerpt(*node->kids[i]->kids[0]);
    cls->is_dataclass |= name.find("dataclass") != std::string::npos || name == "config" ||
                         name.starts_with("config(");
    if (decorator.Is(ObjectKind::kFunction) || decorator.Is(ObjectKind::kPartial)) {
      Arguments arguments;
      arguments.positional = {result};
      try {
        const Value decorated = Call(decorator, std::move(arguments));
        if (decorated.Is(ObjectKind::kClass)) result = decorated;
      } catch (const PythonError&) {
        // A registration that cannot be followed does not change the class.
      }
    }
  }
  return result;
}

void Interpreter::AttachBehaviour(ClassObject* cls) {
  cls->layer_row = FindLayer(cls->qualified);
  if (cls->layer_row < 0) return;
  const Layer& layer = LayerTable()[static_cast<size_t>(cls->layer_row)];
  const Value behaviour = ModuleAttribute(Module("tenon.layers"), std::string(layer.behaviour));
  TENON_ASSERT(behaviour.Is(ObjectKind::kClass), "layers.def: no behaviour {}", layer.behaviour);
  cls->behaviour = behaviour.As<ClassObject>();
}

Value Interpreter::ClassAttribute(ClassObject* cls, const std::string& name,
                                  const ClassObject* after, ClassObject** found_in,
                                  bool skip_behaviours) {
  bool searching = after == nullptr;
  for (Object* entry : cls->linearisation) {
    if (entry->kind != ObjectKind::kClass) continue;
    auto* candidate = static_cast<ClassObject*>(entry);
    if (!searching) {
      searching = candidate == after;
      continue;
    }
    if (candidate->behaviour != nullptr && !skip_behaviours) {
      for (Object* stand_in : candidate->behaviour->linearisation) {
        if (stand_in->kind != ObjectKind::kClass) continue;
        const Value value = ScopeValue(&static_cast<ClassObject*>(stand_in)->scope, name);
        if (!value.Defined()) continue;
        if (found_in != nullptr) *found_in = candidate;
        return value;
      }
    }
    Value value = ScopeValue(&candidate->scope, name);
    if (!value.Defined()) continue;
    if (found_in != nullptr) *found_in = candidate;
    if (candidate->is_enum) value = EnumMember(candidate, name, value);
    return value;
  }
  return {};
}

bool Interpreter::IsSubclass(const ClassObject* cls, const Value& base) {
  if (base.Is(ObjectKind::kTuple)) {
    for (const Value& one : Iterate(base)) {
      if (IsSubclass(cls, one)) return true;
    }
    return false;
  }
  std::string name;
  if (const auto* builtin = base.As<BuiltinObject>()) name = builtin->name;
  if (const auto* external = base.As<ExternalObject>()) name = external->name;
  if (name == "object") return true;
  for (Object* entry : cls->linearisation) {
    if (base.tag == Value::Tag::kObject && entry == base.object) return true;
    if (!name.empty() && entry->kind == ObjectKind::kExternal && NameOf(entry) == name) return true;
    // A Transformers configuration class is known by its own name only.
    const size_t dot = name.rfind('.');
    if (name.starts_with("transformers.") && NameOf(entry) == name.substr(dot + 1)) return true;
  }
  return false;
}

bool Interpreter::IsInstance(const Value& value, const Value& cls) {
  if (cls.Is(ObjectKind::kTuple)) {
    for (const Value& one : Iterate(cls)) {
      if (IsInstance(value, one)) return true;
    }
    return false;
  }
  if (cls.IsNone()) return value.IsNone();
  std::string name;
  if (const auto* builtin = cls.As<BuiltinObject>()) name = builtin->name;
  if (const auto* external = cls.As<ExternalObject>()) name = external->name;
  Value plain = value;
  if (const auto* instance = value.As<InstanceObject>()) {
    if (IsSubclass(instance->cls, cls)) return true;
    if (!instance->native.Defined()) return false;
    plain = instance->native;
  }
  if (name == "object") return true;
  if (name == "int") return plain.IsInt() || plain.IsBool() || plain.Is(ObjectKind::kSymbolic);
  if (name == "float") return plain.IsFloat();
  if (name == "bool") return plain.IsBool();
  if (name == "str") return Text(plain) != nullptr;
  if (name == "list") return plain.Is(ObjectKind::kList);
  if (name == "tuple") return plain.Is(ObjectKind::kTuple);
  if (name == "dict" || name.ends_with(".Mapping")) return plain.Is(ObjectKind::kDict);
  if (name == "set") return plain.Is(ObjectKind::kSet);
  if (name == "type") return plain.Is(ObjectKind::kClass);
  if (name.ends_with(".Sequence") || name.ends_with(".Iterable")) {
    return plain.Is(ObjectKind::kList) || plain.Is(ObjectKind::kTuple);
  }
  if (name.ends_with(".Callable")) {
    return plain.Is(ObjectKind::kFunction) || plain.Is(ObjectKind::kBoundMethod) ||
           plain.Is(ObjectKind::kPartial);
  }
  if (name == "torch.dtype") {
    const auto* external = plain.As<ExternalObject>();
    return external != nullptr && external->name.starts_with("torch.") &&
           ParseDType(external->name.substr(6)).has_value();
  }
  if (name == "torch.Tensor") return plain.Is(ObjectKind::kTensor);
  return false;
}

bool Interpreter::IsModule(const Value& value) {
  const auto* instance = value.As<InstanceObject>();
  if (instance == nullptr) return false;
  for (const Object* entry : instance->cls->linearisation) {
    if (entry->kind != ObjectKind::kClass || NameOf(entry) != "Module") continue;
    if (static_cast<const ClassObject*>(entry)->module->is_stand_in) return true;
  }
  return false;
}

InstanceObject* Interpreter::Blank(ClassObject* cls) {
  auto* instance = heap.New<InstanceObject>();
  instance->cls = cls;
  return instance;
}

Value Interpreter::Instantiate(ClassObject* cls, Arguments arguments) {
  if (cls->is_enum) return InstantiateEnum(cls, arguments);
  InstanceObject* instance = Blank(cls);
  const Value self = instance;
  for (const Object* entry : cls->linearisation) {
    if (entry->kind != ObjectKind::kExternal) continue;
    const std::string_view base = NameOf(entry);
    if (base == "str" || base == "int" || base == "float" || base == "dict" || base == "list" ||
        base == "tuple" || base == "collections.OrderedDict" || base == "collections.UserDict") {
      const std::string type(base.starts_with("collections.") ? "dict" : base);
      const bool keeps_arguments = !ClassAttribute(cls, "__init__").Defined();
      Arguments none;
      instance->native =
          Builtins().at(type)(*this, keeps_arguments || type == "str" ? arguments : none);
      if (keeps_arguments) return self;
    }
  }
  const Value init = ClassAttribute(cls, "__init__");
  if (init.Defined()) {
    Arguments with_self = std::move(arguments);
    with_self.positional.insert(with_self.positional.begin(), self);
    Call(init, std::move(with_self));
  } else if (cls->is_dataclass) {
    InitDataclass(instance, std::move(arguments));
  }
  return self;
}

std::vector<std::pair<std::string, Value>> Interpreter::DataclassFields(ClassObject* cls) {
  std::vector<std::pair<std::string, Value>> fields;
  for (size_t i = cls->linearisation.size(); i-- > 0;) {
    if (cls->linearisation[i]->kind != ObjectKind::kClass) continue;
    auto* part = static_cast<ClassObject*>(cls->linearisation[i]);
    if (!part->is_dataclass) continue;
    for (const Node* statement : part->node->kids[0]->kids) {
      if (statement->kind != Kind::kAnnotated || statement->kids[0]->kind != Kind::kName) continue;
      const std::string& name = statement->kids[0]->text;
      if (part->module->file->Excerpt(*statement->kids[1]).find("ClassVar") != std::string::npos) {
        continue;
      }
      std::erase_if(fields, [&](const auto& field) { return field.first == name; });
      fields.emplace_back(name,
                          statement->kids[2] == nullptr ? Value() : ScopeValue(&part->scope, name));
    }
  }
  return fields;
}

void Interpreter::InitDataclass(InstanceObject* instance, Arguments arguments) {
  size_t position = 0;
  for (const auto& [name, fallback] : DataclassFields(instance->cls)) {
    const Value given = arguments.Find(name) != nullptr          ? *arguments.Find(name)
                        : position < arguments.positional.size() ? arguments.positional[position]
                                                                 : Value();
    ++position;
    const auto* factory = fallback.As<InstanceObject>();
    if (given.Defined()) {
      instance->attributes.emplace_back(name, given);
    } else if (factory != nullptr && factory->cls->name == "DefaultFactory") {
      instance->attributes.emplace_back(name, CallMethod(fallback, "make"));
    } else if (fallback.Defined()) {
      instance->attributes.emplace_back(name, fallback);
    } else {
      Raise("TypeError", fmt::format("{}() missing argument '{}'", instance->cls->name, name));
    }
  }
  const Value post = ClassAttribute(instance->cls, "__post_init__");
  if (!post.Defined()) return;
  Arguments self;
  self.positional = {instance};
  Call(post, std::move(self));
}

Value Interpreter::EnumMember(ClassObject* cls, const std::string& name, const Value& value) {
  if (value.Is(ObjectKind::kFunction) || value.Is(ObjectKind::kDescriptor) ||
      value.Is(ObjectKind::kClass) || name.starts_with("_")) {
    return value;
  }
  const auto* known = value.As<InstanceObject>();
  if (known != nullptr && known->cls == cls) return value;
  if (cls->module->is_stand_in) return value;
  InstanceObject* member = Blank(cls);
  member->label = cls->name + "." + name;
  Value stored = value;
  if (value.Is(ObjectKind::kUnknown)) stored = NewString(name);  // enum.auto()
  member->attributes = {{"name", NewString(name)}, {"value", stored}};
  for (const Object* entry : cls->linearisation) {
    const std::string_view base = NameOf(entry);
    if (base == "str" || base == "int" || base == "StrEnum" || base == "IntEnum") {
      member->native = stored;
    }
  }
  SetScopeValue(&cls->scope, name, member);
  return member;
}

Value Interpreter::InstantiateEnum(ClassObject* cls, const Arguments& arguments) {
  const Value wanted = Argument(arguments, 0, "value");
  for (const std::string& name : std::vector<std::string>(cls->scope.order)) {
    const Value member = ClassAttribute(cls, name);
    const auto* instance = member.As<InstanceObject>();
    if (instance == nullptr || instance->cls != cls) continue;
    const Value* value = member.As<InstanceObject>()->Find("value");
    if (Identical(member, wanted) || (value != nullptr && Equal(*value, wanted))) return member;
  }
  if (wanted.Is(ObjectKind::kUnknown)) return NewUnknown(cls->name + "(...)");
  Raise("ValueError", fmt::format("{} is not a valid {}", Repr(wanted), cls->name));
}

}  // namespace tenon::analyze
