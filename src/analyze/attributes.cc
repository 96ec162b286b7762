// Attribute access on every kind of value.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/interpreter.h"
#include "analyze/tensor_functions.h"

namespace tenon::analyze {
namespace {

using Role = DescriptorObject::Role;

std::string TypePrefix(const Value& value) {
  if (Text(value) != nullptr) return "str.";
  switch (value.tag) {
    case Value::Tag::kInt:
    case Value::Tag::kBool:
      return "int.";
    case Value::Tag::kFloat:
      return "float.";
    case Value::Tag::kObject:
      break;
    default:
      return "";
  }
  switch (value.object->kind) {
    case ObjectKind::kList:
      return "list.";
    case ObjectKind::kTuple:
      return "tuple.";
    case ObjectKind::kDict:
      return "dict.";
    case ObjectKind::kSet:
      return "set.";
    default:
      return "";
  }
}

}  // namespace

// A method of a built-in type, bound to the object.
Value Interpreter::MethodOf(const Value& object, const std::string& name) {
  const std::string prefix = TypePrefix(object);
  if (prefix.empty()) return {};
  const NativeFunction method = ContainerMethod(prefix + name);
  if (method == nullptr) return {};
  return heap.New<BoundMethodObject>(object, heap.New<BuiltinObject>(prefix + name, method));
}

Value Interpreter::BindAttribute(const Value& attribute, const Value& self, ClassObject* cls) {
  if (const auto* descriptor = attribute.As<DescriptorObject>()) {
    switch (descriptor->role) {
      case Role::kStatic:
        return descriptor->function;
      case Role::kClassMethod:
        return heap.New<BoundMethodObject>(cls, descriptor->function);
      case Role::kProperty:
      case Role::kCachedProperty: {
        if (self.Is(ObjectKind::kClass)) return attribute;
        Arguments arguments;
        arguments.positional = {self};
        return Call(descriptor->function, std::move(arguments));
      }
    }
  }
  if (self.Is(ObjectKind::kClass)) return attribute;
  if (attribute.Is(ObjectKind::kFunction) || attribute.Is(ObjectKind::kBuiltin)) {
    return heap.New<BoundMethodObject>(self, attribute);
  }
  return attribute;
}

Value Interpreter::InstanceAttribute(InstanceObject* instance, const std::string& name) {
  const Value self = instance;
  if (!instance->later_class.empty()) {
    if (const Value* own = instance->Find(name)) return *own;
    const Value cls = Resolve(instance->later_class);
    instance->later_class.clear();
    if (cls.Is(ObjectKind::kClass)) instance->cls = cls.As<ClassObject>();
  }
  const Value in_class = ClassAttribute(instance->cls, name);
  const auto* descriptor = in_class.As<DescriptorObject>();
  if (descriptor != nullptr && descriptor->role == Role::kProperty &&
      instance->Find(name) == nullptr) {
    return BindAttribute(in_class, self, instance->cls);
  }
  if (const Value* own = instance->Find(name)) return *own;
  if (descriptor != nullptr && descriptor->role == Role::kCachedProperty) {
    const Value value = BindAttribute(in_class, self, instance->cls);
    instance->attributes.emplace_back(name, value);
    return value;
  }
  if (in_class.Defined()) {
    const auto* factory = in_class.As<InstanceObject>();
    if (factory != nullptr && factory->cls->name == "DefaultFactory" &&
        instance->cls->is_dataclass) {
      const Value made = CallMethod(in_class, "make");
      instance->attributes.emplace_back(name, made);
      return made;
    }
    return BindAttribute(in_class, self, instance->cls);
  }
  if (name == "__class__") return instance->cls;
  if (name == "__dict__") {
    auto* dict = heap.New<DictObject>();
    for (const auto& [key, value] : instance->attributes) dict->table.Set(NewString(key), value);
    return dict;
  }
  if (instance->native.Defined()) {
    const Value method = Attribute(instance->native, name);
    if (method.Defined()) return method;
  }
  if (!name.starts_with("__")) {
    const Value fallback = ClassAttribute(instance->cls, "__getattr__");
    if (fallback.Defined()) {
      Arguments arguments;
      arguments.positional = {self, NewString(name)};
      try {
        return Call(fallback, std::move(arguments));
      } catch (const PythonError& error) {
        if (error.Name() != "AttributeError") throw;
      }
    }
    if (instance->open) {
      return NewUnknown((instance->label.empty() ? instance->cls->name : instance->label) + "." +
                        name);
    }
  }
  return {};
}

Value Interpreter::SuperAttribute(const SuperObject* super, const std::string& name) {
  const auto* instance = super->self.As<InstanceObject>();
  auto* cls = instance != nullptr ? instance->cls : super->self.As<ClassObject>();
  if (cls == nullptr || super->after == nullptr) return NewUnknown("super()." + name);
  const Value attribute = ClassAttribute(cls, name, super->after);
  if (attribute.Defined()) return BindAttribute(attribute, super->self, cls);
  // `object` and external bases accept everything.
  if (name == "__init__" || name == "__init_subclass__" || name == "__post_init__") {
    return heap.New<BuiltinObject>(
        name, +[](Interpreter&, Arguments&) { return Value::None(); });
  }
  for (const Object* entry : cls->linearisation) {
    if (entry->kind == ObjectKind::kExternal) return NewUnknown("super()." + name);
  }
  return {};
}

Value Interpreter::OwnAttribute(ClassObject* cls, const std::string& name) {
  const Value value = ClassAttribute(cls, name);
  if (value.Defined()) return BindAttribute(value, cls, cls);
  if (name == "__name__" || name == "__qualname__") return NewString(cls->name);
  if (name == "__module__") return NewString(cls->module->name);
  if (name == "__mro__") {
    std::vector<Value> order(cls->linearisation.begin(), cls->linearisation.end());
    return NewTuple(std::move(order));
  }
  const bool members = name == "__members__" && cls->is_enum;
  if (name != "__dict__" && !members) return {};
  auto* dict = heap.New<DictObject>();
  if (members) {
    for (const Value& member : Iterate(cls)) {
      dict->table.Set(RequireAttribute(member, "name"), member);
    }
  } else {
    for (const std::string& own : cls->scope.order) {
      dict->table.Set(NewString(own), NewUnknown(cls->name + "." + own));
    }
  }
  return dict;
}

namespace {

Value FunctionAttribute(Interpreter& in, const FunctionObject* function, const std::string& name) {
  for (const auto& [key, value] : function->attributes) {
    if (key == name) return value;
  }
  if (name == "__name__") return in.NewString(function->name);
  if (name == "__qualname__") return in.NewString(function->qualified);
  if (name == "__module__") return in.NewString(function->module->name);
  return {};
}

}  // namespace

Value Interpreter::Attribute(const Value& object, const std::string& name) {
  if (object.tag != Value::Tag::kObject) {
    const Value method = MethodOf(object, name);
    if (method.Defined()) return method;
    return object.IsNumber() && (name == "real" || name == "numerator") ? object : Value();
  }
  switch (object.object->kind) {
    case ObjectKind::kInstance:
      return InstanceAttribute(object.As<InstanceObject>(), name);
    case ObjectKind::kModule:
      return ModuleAttribute(object.As<ModuleObject>(), name);
    case ObjectKind::kExternal: {
      const std::string dotted = object.As<ExternalObject>()->name + "." + name;
      if (ModuleObject* module = Module(dotted)) return module;
      return NewExternal(dotted);
    }
    case ObjectKind::kUnknown:
      return NewUnknown(Repr(object) + "." + name);
    case ObjectKind::kTensor:
      return TensorAttribute(*this, object, name);
    case ObjectKind::kSuper:
      return SuperAttribute(object.As<SuperObject>(), name);
    case ObjectKind::kClass:
      return OwnAttribute(object.As<ClassObject>(), name);
    case ObjectKind::kFunction:
      return FunctionAttribute(*this, object.As<FunctionObject>(), name);
    case ObjectKind::kBoundMethod: {
      const auto* method = object.As<BoundMethodObject>();
      if (name == "__self__") return method->self;
      if (name == "__func__") return method->function;
      return Attribute(method->function, name);
    }
    case ObjectKind::kPartial:
      if (name == "func") return object.As<PartialObject>()->function;
      return {};
    case ObjectKind::kBuiltin: {
      const auto* builtin = object.As<BuiltinObject>();
      if (name == "__name__") return NewString(builtin->name);
      if (builtin->name == "object" && name == "__setattr__") {
        return heap.New<BuiltinObject>("setattr", Builtins().at("setattr"));
      }
      // dict.fromkeys, str.join used through the type.
      const NativeFunction method = ContainerMethod(builtin->name + "." + name);
      return method == nullptr ? Value() : heap.New<BuiltinObject>(name, method);
    }
    case ObjectKind::kDescriptor:
      // `@x.setter` returns the property unchanged: values are kept where they are set.
      if (name == "setter" || name == "deleter") return NewUnknown("setter");
      return {};
    case ObjectKind::kSlice: {
      const auto* slice = object.As<SliceObject>();
      return name == "start" ? slice->start : name == "stop" ? slice->stop : slice->step;
    }
    default:
      return MethodOf(object, name);
  }
}

// A value that neither the file nor the class gives: `config.x` needs it, so a real one has it.
Value Interpreter::MissingConfigValue(const Value& object, const std::string& name) {
  auto* instance = object.As<InstanceObject>();
  const Frame* frame = VisibleFrame();
  const std::string owner = instance->label.empty() ? instance->cls->name : instance->label;
  if (frame != nullptr) {
    diagnostics.push_back({"note", "W1", fmt::format("{}.{} is not known", owner, name),
                           frame->module->file->shown(), static_cast<int>(frame->at->line)});
  }
  const Value unknown = NewUnknown(owner + "." + name);
  instance->attributes.emplace_back(name, unknown);
  return unknown;
}

Value Interpreter::RequireAttribute(const Value& object, const std::string& name) {
  const Value value = Attribute(object, name);
  if (value.Defined()) return value;
  if (strict) Refuse(fmt::format("attribute '{}' of {}", name, Repr(object)));
  const bool config = IsConfig(object);
  if (config && attribute_errors_expected_ == 0) return MissingConfigValue(object, name);
  // Only a part of such a class is written down: what its own __init__ would set is not known.
  // The same holds for what loaders hang on to a weight.
  const auto* instance = object.As<InstanceObject>();
  const auto written_down = [](const Object* entry) {
    const auto* cls =
        entry->kind == ObjectKind::kClass ? static_cast<const ClassObject*>(entry) : nullptr;
    return cls != nullptr && (cls->layer_row >= 0 || cls->module->is_stand_in) &&
           cls->name != "Module";
  };
  const auto& classes =
      instance == nullptr || config ? std::vector<Object*>{} : instance->cls->linearisation;
  if (object.Is(ObjectKind::kTensor) || std::any_of(classes.begin(), classes.end(), written_down)) {
    return NewUnknown(Repr(object) + "." + name);
  }
  Raise("AttributeError", fmt::format("{} has no attribute '{}'", Repr(object), name));
}

void Interpreter::Adopt(InstanceObject* parent, const std::string& name, const Value& child) {
  auto* instance = child.As<InstanceObject>();
  if (instance == nullptr || instance->parent != nullptr || !IsModule(child)) return;
  instance->parent = parent;
  instance->name = name;
}

void Interpreter::SetAttribute(const Value& object, const std::string& name, const Value& value) {
  if (auto* instance = object.As<InstanceObject>()) {
    if (Value* known = instance->Find(name)) {
      *known = value;
    } else {
      instance->attributes.emplace_back(name, value);
    }
    auto* tensor = value.As<TensorObject>();
    if (tensor != nullptr && tensor->is_parameter && tensor->parameter_owner == nullptr) {
      tensor->parameter_owner = instance;
      tensor->parameter = name;
    }
    Adopt(instance, name, value);
    return;
  }
  if (auto* cls = object.As<ClassObject>()) SetScopeValue(&cls->scope, name, value);
  if (auto* module = object.As<ModuleObject>()) SetScopeValue(&module->scope, name, value);
  if (auto* function = object.As<FunctionObject>()) {
    for (auto& [key, known] : function->attributes) {
      if (key == name) {
        known = value;
        return;
      }
    }
    function->attributes.emplace_back(name, value);
  }
}

void Interpreter::DeleteAttribute(const Value& object, const std::string& name) {
  auto* instance = object.As<InstanceObject>();
  if (instance == nullptr) return;
  std::erase_if(instance->attributes, [&](const auto& entry) { return entry.first == name; });
}

}  // namespace tenon::analyze
