// Calls: binding of arguments, functions, bound methods, partials, classes, external functions.
#include <fmt/format.h>

#include "analyze/interpreter.h"
#include "analyze/tensor_functions.h"
#include "base/error.h"

namespace tenon::analyze {
namespace {

bool Yields(const Node* node) {
  if (node == nullptr) return false;
  if (node->kind == Kind::kYield || node->kind == Kind::kYieldFrom) return true;
  if (node->kind == Kind::kFunction || node->kind == Kind::kLambda || node->kind == Kind::kClass) {
    return false;
  }
  for (const Node* kid : node->kids) {
    if (Yields(kid)) return true;
  }
  return false;
}

}  // namespace

Value Argument(const Arguments& arguments, size_t position, std::string_view name) {
  for (const auto& [known, value] : arguments.keywords) {
    if (known == name) return value;
  }
  return position < arguments.positional.size() ? arguments.positional[position] : Value();
}

Interpreter::FrameScope::FrameScope(Interpreter& in, Frame frame) : in_(in) {
  if (in_.frames_.size() >= kMaxDepth) throw LimitReached{"200 nested calls"};
  in_.frames_.push_back(frame);
}

Arguments Interpreter::EvalArguments(const Node* call, size_t first, Namespace* env) {
  Arguments arguments;
  for (size_t i = first; i < call->kids.size(); ++i) {
    const Node* kid = call->kids[i];
    if (kid->kind == Kind::kKeyword) {
      arguments.keywords.emplace_back(kid->text, Eval(kid->kids[0], env));
    } else if (kid->kind == Kind::kStar) {
      const Value spread = Eval(kid->kids[0], env);
      arguments.open |= spread.Is(ObjectKind::kUnknown);
      for (const Value& item : Iterate(spread)) arguments.positional.push_back(item);
    } else if (kid->kind == Kind::kDoubleStar) {
      const Value spread = Eval(kid->kids[0], env);
      arguments.open |= spread.Is(ObjectKind::kUnknown);
      if (const auto* dict = spread.As<DictObject>()) {
        for (const auto& [key, value] : dict->table.entries) {
          arguments.keywords.emplace_back(Str(key), value);
        }
      }
    } else {
      arguments.positional.push_back(Eval(kid, env));
    }
  }
  return arguments;
}

Value Interpreter::EvalCall(const Node* node, Namespace* env) {
  const Node* callee_node = node->kids[0];
  if (callee_node->kind == Kind::kName && callee_node->text == "super") {
    return EvalSuper(node, env);
  }
  const Value callee = Eval(callee_node, env);
  if (callee.Is(ObjectKind::kBuiltin) && callee.As<BuiltinObject>()->name == "locals") {
    auto* dict = heap.New<DictObject>();
    for (const auto& [name, value] : env->variables) {
      dict->table.Set(NewString(std::string(name)), value);
    }
    return dict;
  }
  Arguments arguments = EvalArguments(node, 1, env);
  frames_.back().at = node;
  return Call(callee, std::move(arguments));
}

Value Interpreter::EvalSuper(const Node* node, Namespace* env) {
  auto* super = heap.New<SuperObject>();
  if (node->kids.size() >= 3) {
    super->after = Eval(node->kids[1], env).As<ClassObject>();
    super->self = Eval(node->kids[2], env);
    return super;
  }
  for (Namespace* at = env; at != nullptr; at = at->parent) {
    if (at->owner == nullptr || at->scope != nullptr || at->variables.empty()) continue;
    super->after = at->owner;
    super->self = at->variables[0].second;
    // A comprehension's environment has its owner, but not self.
    if (super->self.Is(ObjectKind::kInstance) || super->self.Is(ObjectKind::kClass)) break;
  }
  return super;
}

std::vector<std::pair<std::string, Value>> Interpreter::Bind(const FunctionObject* function,
                                                             Arguments arguments) {
  std::vector<std::pair<std::string, Value>> bound;
  const Node* parameters = function->node->kids[0];
  size_t next = 0;
  std::vector<bool> used(arguments.keywords.size(), false);
  for (size_t i = 0; i < parameters->kids.size(); ++i) {
    const Node* parameter = parameters->kids[i];
    const auto kind = static_cast<ParameterKind>(parameter->integer);
    if (kind == ParameterKind::kStar) {
      std::vector<Value> rest;
      for (; next < arguments.positional.size(); ++next) rest.push_back(arguments.positional[next]);
      bound.emplace_back(parameter->text, NewTuple(std::move(rest)));
      continue;
    }
    if (kind == ParameterKind::kDoubleStar) {
      auto* dict = heap.New<DictObject>();
      for (size_t k = 0; k < arguments.keywords.size(); ++k) {
        if (used[k]) continue;
        dict->table.Set(NewString(arguments.keywords[k].first), arguments.keywords[k].second);
        used[k] = true;
      }
      bound.emplace_back(parameter->text, dict);
      continue;
    }
    Value value;
    if (kind == ParameterKind::kPositional && next < arguments.positional.size()) {
      value = arguments.positional[next++];
    }
    for (size_t k = 0; k < arguments.keywords.size() && !value.Defined(); ++k) {
      if (used[k] || arguments.keywords[k].first != parameter->text) continue;
      value = arguments.keywords[k].second;
      used[k] = true;
    }
    if (!value.Defined()) value = function->defaults[i];
    if (!value.Defined() && arguments.open) value = NewUnknown(parameter->text);
    if (!value.Defined()) {
      Raise("TypeError",
            fmt::format("{}() missing argument '{}'", function->name, parameter->text));
    }
    bound.emplace_back(parameter->text, value);
  }
  if (next < arguments.positional.size()) {
    Raise("TypeError", fmt::format("{}() takes {} positional arguments but {} were given",
                                   function->name, next, arguments.positional.size()));
  }
  for (size_t k = 0; k < used.size(); ++k) {
    if (!used[k]) {
      Raise("TypeError", fmt::format("{}() got an unexpected keyword argument '{}'", function->name,
                                     arguments.keywords[k].first));
    }
  }
  return bound;
}

Value Interpreter::CallFunction(FunctionObject* function, Arguments arguments) {
  Namespace* env = heap.NewNamespace();
  env->parent = function->closure;
  env->module = function->module;
  env->owner = function->owner;
  {
    const auto bound = Bind(function, std::move(arguments));
    const auto& parameters = function->node->kids[0]->kids;
    for (size_t i = 0; i < bound.size(); ++i) {
      env->variables.emplace_back(parameters[i]->text, bound[i].second);
    }
  }
  FrameScope frame(*this, {function, function->module, function->node});
  if (function->node->kind == Kind::kLambda) return Eval(function->node->kids[1], env);
  const Node* body = function->file->Body(*function->node);
  if (function->generator < 0) function->generator = Yields(body) ? 1 : 0;
  if (function->generator == 0) {
    return Run(body, env) == Flow::kReturn ? return_value_ : Value::None();
  }
  std::vector<Value> items;
  yields_.push_back(&items);
  try {
    Run(body, env);
  } catch (...) {
    yields_.pop_back();
    throw;
  }
  yields_.pop_back();
  return NewIterator(std::move(items));
}

Value Interpreter::Call(const Value& callee, Arguments arguments) {
  CountStep();
  if (callee.tag != Value::Tag::kObject) {
    Raise("TypeError", Repr(callee) + " is not callable");
  }
  switch (callee.object->kind) {
    case ObjectKind::kFunction:
      return CallFunction(callee.As<FunctionObject>(), std::move(arguments));
    case ObjectKind::kBoundMethod: {
      const auto* method = callee.As<BoundMethodObject>();
      arguments.positional.insert(arguments.positional.begin(), method->self);
      return Call(method->function, std::move(arguments));
    }
    case ObjectKind::kPartial: {
      const auto* partial = callee.As<PartialObject>();
      Arguments all = partial->arguments;
      all.positional.insert(all.positional.end(), arguments.positional.begin(),
                            arguments.positional.end());
      for (auto& [name, value] : arguments.keywords) {
        if (Value* known = all.Find(name)) {
          *known = value;
        } else {
          all.keywords.emplace_back(name, value);
        }
      }
      return Call(partial->function, std::move(all));
    }
    case ObjectKind::kClass:
      return Instantiate(callee.As<ClassObject>(), std::move(arguments));
    case ObjectKind::kBuiltin: {
      const auto* builtin = callee.As<BuiltinObject>();
      if (builtin->call == nullptr) return NewUnknown(builtin->name + "(...)");
      return builtin->call(*this, arguments);
    }
    case ObjectKind::kInstance:
      return CallInstance(callee.As<InstanceObject>(), std::move(arguments));
    case ObjectKind::kExternal:
      return CallExternal(callee.As<ExternalObject>(), std::move(arguments));
    case ObjectKind::kUnknown:
      return CallUnknown(Repr(callee), arguments);
    case ObjectKind::kDescriptor:
      return Call(callee.As<DescriptorObject>()->function, std::move(arguments));
    default:
      Raise("TypeError", Repr(callee) + " is not callable");
  }
}

Value Interpreter::CallInstance(InstanceObject* instance, Arguments arguments) {
  const Value self = instance;
  if (ClassAttribute(instance->cls, "__call__").Defined()) {
    // torch.nn.Module's __call__ is `forward`, with the module on the tracer's stack.
    if (IsModule(self)) {
      const Value forward = RequireAttribute(self, "forward");
      tracer.BeginModule(instance);
      try {
        Value result = Call(forward, std::move(arguments));
        tracer.EndModule();
        return result;
      } catch (...) {
        tracer.EndModule();
        throw;
      }
    }
    return CallMethod(self, "__call__", std::move(arguments));
  }
  if (instance->open) return CallUnknown(Repr(self), arguments);
  Raise("TypeError", "'" + instance->cls->name + "' object is not callable");
}

Value Interpreter::CallExternal(const ExternalObject* external, Arguments arguments) {
  if (const TensorFunction* function = FindTensorFunction(external->name)) {
    return function->call(*this, *function, arguments);
  }
  if (!strict && IsKernelName(external->name)) {
    return LaunchKernel(*this, external->name, std::move(arguments));
  }
  return CallUnknown(external->name, arguments);
}

Value Interpreter::CallUnknown(const std::string& name, const Arguments& arguments) {
  std::vector<Value> tensors;
  const auto collect = [&](const Value& value, auto&& self) -> void {
    const auto* tensor = value.As<TensorObject>();
    if (tensor != nullptr && !tensor->is_parameter) tensors.push_back(value);
    const bool nested = value.Is(ObjectKind::kTuple) || value.Is(ObjectKind::kList);
    if (!nested) return;
    for (const Value& item : Iterate(value)) self(item, self);
  };
  for (const Value& value : arguments.positional) collect(value, collect);
  for (const auto& [key, value] : arguments.keywords) collect(value, collect);
  if (tensors.empty()) return NewUnknown(name + "(...)");
  return OpaqueCall(*this, name, tensors);
}

Value Interpreter::CallMethod(const Value& object, const std::string& name, Arguments arguments) {
  return Call(RequireAttribute(object, name), std::move(arguments));
}

Value Interpreter::MakeFunction(const Node* node, Namespace* env) {
  auto* function = heap.New<FunctionObject>();
  function->node = node;
  function->module = env->module;
  function->file = env->module->file;
  function->name = node->kind == Kind::kLambda ? "<lambda>" : node->text;
  ClassObject* owner = env->scope != nullptr ? env->owner : nullptr;
  function->owner = owner != nullptr ? owner : env->owner;
  // Methods do not see the names of their class body.
  function->closure = owner != nullptr ? env->parent : env;
  function->qualified = owner != nullptr ? owner->name + "." + function->name : function->name;
  if (owner == nullptr && env->scope == nullptr && !frames_.empty() &&
      frames_.back().function != nullptr) {
    function->qualified = frames_.back().function->qualified + "." + function->name;
  }
  for (const Node* parameter : node->kids[0]->kids) {
    function->defaults.push_back(parameter->kids[0] == nullptr ? Value()
                                                               : Eval(parameter->kids[0], env));
  }
  Value result = function;
  if (node->kind == Kind::kLambda) return result;
  for (size_t i = node->kids.size(); i-- > 1;) {
    result = Decorate(Eval(node->kids[i]->kids[0], env), result);
  }
  return result;
}

Value Interpreter::Decorate(const Value& decorator, const Value& definition) {
  const auto name = [&]() -> std::string {
    if (const auto* external = decorator.As<ExternalObject>()) return external->name;
    if (const auto* builtin = decorator.As<BuiltinObject>()) return builtin->name;
    if (const auto* unknown = decorator.As<UnknownObject>()) return unknown->expression;
    return "";
  }();
  using Role = DescriptorObject::Role;
  if (name == "property") return heap.New<DescriptorObject>(Role::kProperty, definition);
  if (name == "functools.cached_property") {
    return heap.New<DescriptorObject>(Role::kCachedProperty, definition);
  }
  if (name == "staticmethod") return heap.New<DescriptorObject>(Role::kStatic, definition);
  if (name == "classmethod") return heap.New<DescriptorObject>(Role::kClassMethod, definition);
  auto* function = definition.As<FunctionObject>();
  if (function != nullptr && name.starts_with("torch.compile")) function->compiled = true;
  if (function != nullptr && name.starts_with("triton.")) function->kernel = true;
  // A decorator whose source is not read is taken to return what it was given.
  if (decorator.Is(ObjectKind::kExternal) || decorator.Is(ObjectKind::kUnknown) || name == "type") {
    return definition;
  }
  Arguments arguments;
  arguments.positional = {definition};
  const Value decorated = Call(decorator, std::move(arguments));
  return decorated.Is(ObjectKind::kUnknown) ? definition : decorated;
}

}  // namespace tenon::analyze
