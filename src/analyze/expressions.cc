// Expressions.
#include <fmt/format.h>

#include <cctype>

#include "analyze/interpreter.h"
#include "analyze/tensor_functions.h"
#include "base/error.h"

namespace tenon::analyze {

Value Interpreter::LookUp(const std::string& name, Namespace* env) {
  const ModuleObject* module = env->module;
  for (; env != nullptr; env = env->parent) {
    if (env->scope != nullptr) {
      // A module's own __getattr__ answers from outside only.
      const bool of_module =
          env->owner == nullptr && env->scope == &env->module->scope &&
          (env->scope->names.contains(name) || !env->scope->names.contains("__getattr__"));
      const Value value =
          of_module ? ModuleAttribute(env->module, name) : ScopeValue(env->scope, name);
      // A stand-in text sees builtins before the external names of its package.
      if (value.Defined() && !(value.Is(ObjectKind::kExternal) && env->module->is_stand_in &&
                               !env->scope->names.contains(name))) {
        return value;
      }
    } else if (const Value* value = env->Find(name)) {
      return *value;
    }
  }
  if (module->is_stand_in) {
    if (const auto found = Intrinsics().find(name); found != Intrinsics().end()) {
      return heap.New<BuiltinObject>(name, found->second);
    }
  }
  if (const auto found = Builtins().find(name); found != Builtins().end()) {
    return heap.New<BuiltinObject>(name, found->second);
  }
  // Exceptions and the like are ordinary classes of the stand-in text for `builtins`.
  if (ModuleObject* builtins = Module("builtins"); builtins->scope.names.contains(name)) {
    return ScopeValue(&builtins->scope, name);
  }
  const bool lacks_import = strict && Exists(name);
  Raise("NameError", fmt::format("name '{}' is not defined{}", name,
                                 lacks_import ? "; the file lacks `import " + name + "`" : ""));
}

std::optional<bool> Interpreter::KnownTruth(const Value& value) {
  switch (value.tag) {
    case Value::Tag::kUndefined:
    case Value::Tag::kNone:
      return false;
    case Value::Tag::kBool:
      return value.boolean;
    case Value::Tag::kInt:
      return value.integer != 0;
    case Value::Tag::kFloat:
      return value.real != 0;
    case Value::Tag::kEllipsis:
      return true;
    case Value::Tag::kObject:
      break;
  }
  if (const std::string* text = Text(value)) return !text->empty();
  if (auto* list = value.As<ListObject>()) return !list->items.empty();
  if (auto* tuple = value.As<TupleObject>()) return !tuple->items.empty();
  if (auto* dict = value.As<DictObject>()) return !dict->table.entries.empty();
  if (auto* set = value.As<SetObject>()) return !set->table.entries.empty();
  if (value.Is(ObjectKind::kUnknown) || value.Is(ObjectKind::kTensor)) return std::nullopt;
  if (const auto* external = value.As<ExternalObject>()) {
    // Dtypes and classes are true; a flag of a package that is not read may be anything.
    const std::string last = external->name.substr(external->name.rfind('.') + 1);
    const bool is_class = std::isupper(static_cast<unsigned char>(last[0])) != 0;
    if (is_class || !DtypeOf(*this, value).empty()) return true;
    return std::nullopt;
  }
  if (auto* symbolic = value.As<SymbolicObject>()) {
    return SymbolicCompare(Operator::kNe, symbolic->dim, Dim(0));
  }
  if (auto* instance = value.As<InstanceObject>()) {
    if (instance->native.Defined()) return KnownTruth(instance->native);
    for (const char* method : {"__bool__", "__len__"}) {
      const Value function = ClassAttribute(instance->cls, method);
      if (function.Defined()) return KnownTruth(CallMethod(value, method));
    }
  }
  return true;
}

bool Interpreter::Truth(const Value& value, const Node* at, Namespace* env) {
  if (const std::optional<bool> known = KnownTruth(value)) return *known;
  if (strict) Refuse("a branch on a tensor's values");
  Assume(at, env, false, "value of " + Repr(value) + " is not known");
  return false;
}

Value Interpreter::Eval(const Node* node, Namespace* env) {
  CountStep();
  switch (node->kind) {
    case Kind::kName:
      return LookUp(node->text, env);
    case Kind::kInt:
      return Value::Int(node->integer);
    case Kind::kFloat:
      return Value::Float(node->real);
    case Kind::kString:
      return NewString(node->text);
    case Kind::kTrue:
      return Value::Bool(true);
    case Kind::kFalse:
      return Value::Bool(false);
    case Kind::kNone:
      return Value::None();
    case Kind::kEllipsis:
      return Value::Ellipsis();
    default:
      return EvalCompound(node, env);
  }
}

Value Interpreter::EvalCompound(const Node* node, Namespace* env) {
  switch (node->kind) {
    case Kind::kFormat:
      return EvalFormat(node, env);
    case Kind::kAttribute: {
      const Value object = Eval(node->kids[0], env);
      frames_.back().at = node;
      return RequireAttribute(object, node->text);
    }
    case Kind::kSubscript: {
      const Value object = Eval(node->kids[0], env);
      const Value index = Eval(node->kids[1], env);
      frames_.back().at = node;
      return Subscript(object, index);
    }
    case Kind::kSlice:
      return EvalSlice(node, env);
    case Kind::kCall:
      return EvalCall(node, env);
    case Kind::kUnary:
    case Kind::kBinary:
      return EvalArithmetic(node, env);
    case Kind::kCompare:
      return EvalCompare(node, env);
    case Kind::kAnd:
    case Kind::kOr:
    case Kind::kNot:
      return EvalLogic(node, env);
    case Kind::kIfElse: {
      const bool taken = Truth(Eval(node->kids[0], env), node->kids[0], env);
      return Eval(node->kids[taken ? 1 : 2], env);
    }
    case Kind::kLambda:
      return MakeFunction(node, env);
    case Kind::kTuple:
    case Kind::kList:
    case Kind::kSet:
    case Kind::kDict:
      return EvalDisplay(node, env);
    case Kind::kListComp:
    case Kind::kSetComp:
    case Kind::kDictComp:
    case Kind::kGenerator:
      return EvalComprehension(node, env);
    case Kind::kNamed: {
      const Value value = Eval(node->kids[1], env);
      AssignName(node->kids[0]->text, value, env);
      return value;
    }
    case Kind::kYield:
    case Kind::kYieldFrom:
      return EvalYield(node, env);
    default:
      if (strict) Refuse("this expression");
      return NewUnknown(env->module->file->Excerpt(*node));
  }
}

Value Interpreter::EvalSlice(const Node* node, Namespace* env) {
  auto* slice = heap.New<SliceObject>();
  Value* parts[] = {&slice->start, &slice->stop, &slice->step};
  for (size_t i = 0; i < 3; ++i) {
    *parts[i] = node->kids[i] == nullptr ? Value::None() : Eval(node->kids[i], env);
  }
  return slice;
}

Value Interpreter::EvalArithmetic(const Node* node, Namespace* env) {
  const Value left = Eval(node->kids[0], env);
  const Value right = node->kind == Kind::kBinary ? Eval(node->kids[1], env) : Value();
  frames_.back().at = node;
  return node->kind == Kind::kBinary ? Binary(node->op, left, right) : Unary(node->op, left);
}

Value Interpreter::EvalLogic(const Node* node, Namespace* env) {
  const Value left = Eval(node->kids[0], env);
  const std::optional<bool> known = KnownTruth(left);
  if (node->kind == Kind::kNot) {
    if (strict && !known) Refuse("'not' of a tensor's values");
    return known ? Value::Bool(!*known) : NewUnknown("not " + Repr(left));
  }
  const bool is_and = node->kind == Kind::kAnd;
  if (known) return *known == is_and ? Eval(node->kids[1], env) : left;
  if (strict) Refuse("'and' or 'or' on a tensor's values");
  // `unknown and False` is False, `unknown or True` is True.
  const Value right = Eval(node->kids[1], env);
  const std::optional<bool> other = KnownTruth(right);
  if (other && *other != is_and) return right;
  return NewUnknown(env->module->file->Excerpt(*node));
}

Value Interpreter::EvalYield(const Node* node, Namespace* env) {
  const Value value = node->kids[0] == nullptr ? Value::None() : Eval(node->kids[0], env);
  if (yields_.empty()) return Value::None();
  if (node->kind == Kind::kYield) {
    yields_.back()->push_back(value);
  } else {
    for (const Value& item : Iterate(value)) yields_.back()->push_back(item);
  }
  return Value::None();
}

Value Interpreter::EvalDisplay(const Node* node, Namespace* env) {
  if (node->kind == Kind::kDict) return EvalDict(node, env);
  std::vector<Value> items = EvalItems(node, env);
  if (node->kind == Kind::kTuple) return NewTuple(std::move(items));
  if (node->kind == Kind::kList) return NewList(std::move(items));
  auto* set = heap.New<SetObject>();
  for (const Value& item : items) set->table.Set(item, Value::None());
  return set;
}

std::vector<Value> Interpreter::EvalItems(const Node* node, Namespace* env) {
  std::vector<Value> items;
  for (const Node* kid : node->kids) {
    if (kid->kind == Kind::kStar) {
      for (const Value& item : Iterate(Eval(kid->kids[0], env))) items.push_back(item);
    } else {
      items.push_back(Eval(kid, env));
    }
  }
  return items;
}

Value Interpreter::EvalDict(const Node* node, Namespace* env) {
  auto* dict = heap.New<DictObject>();
  for (const Node* kid : node->kids) {
    if (kid->kind == Kind::kPair) {
      const Value key = Eval(kid->kids[0], env);
      dict->table.Set(key, Eval(kid->kids[1], env));
      continue;
    }
    const Value spread = Eval(kid->kids[0], env);
    const auto* other = spread.As<DictObject>();
    if (other != nullptr) {
      for (const auto& [key, value] : other->table.entries) dict->table.Set(key, value);
    }
  }
  return dict;
}

Value Interpreter::EvalFormat(const Node* node, Namespace* env) {
  std::string text;
  for (const Node* piece : node->kids) {
    if (piece->kind == Kind::kString) {
      text += piece->text;
      continue;
    }
    const Value value = Eval(piece->kids[0], env);
    if (piece->kids[1] != nullptr) {
      Arguments arguments;
      arguments.positional = {value, Eval(piece->kids[1], env)};
      text += Str(Builtins().at("format")(*this, arguments));
    } else {
      text += piece->text == "r" ? Repr(value) : Str(value);
    }
  }
  return NewString(std::move(text));
}

Value Interpreter::EvalCompare(const Node* node, Namespace* env) {
  Value left = Eval(node->kids[0], env);
  Value result = Value::Bool(true);
  for (size_t i = 0; i + 1 < node->kids.size() && i < node->text.size(); ++i) {
    const Value right = Eval(node->kids[i + 1], env);
    frames_.back().at = node;
    result = Compare(static_cast<Operator>(node->text[i]), left, right);
    if (node->kids.size() == 2) return result;
    const std::optional<bool> known = KnownTruth(result);
    if (!known || !*known) return result;
    left = right;
  }
  return result;
}

void Interpreter::Comprehend(const Node* node, size_t clause, Namespace* env,
                             const std::function<void(Namespace*)>& each) {
  if (clause == node->kids.size()) {
    each(env);
    return;
  }
  const Node* part = node->kids[clause];
  if (part->kind == Kind::kCompIf) {
    if (Truth(Eval(part->kids[0], env), part->kids[0], env)) {
      Comprehend(node, clause + 1, env, each);
    }
    return;
  }
  for (const Value& item : Iterate(Eval(part->kids[1], env))) {
    CountStep();
    Assign(part->kids[0], item, env);
    Comprehend(node, clause + 1, env, each);
  }
}

Value Interpreter::EvalComprehension(const Node* node, Namespace* env) {
  Namespace* inner = heap.NewNamespace();
  // A class body's names are visible to a comprehension's first iterable only; reading them
  // everywhere is harmless.
  inner->parent = env;
  inner->module = env->module;
  inner->owner = env->owner;
  const Node* element = node->kids[0];
  if (node->kind == Kind::kDictComp) {
    auto* dict = heap.New<DictObject>();
    Comprehend(node, 1, inner, [&](Namespace* at) {
      const Value key = Eval(element->kids[0], at);
      dict->table.Set(key, Eval(element->kids[1], at));
    });
    return dict;
  }
  std::vector<Value> items;
  Comprehend(node, 1, inner, [&](Namespace* at) { items.push_back(Eval(element, at)); });
  if (node->kind == Kind::kListComp) return NewList(std::move(items));
  if (node->kind == Kind::kGenerator) return NewIterator(std::move(items));
  auto* set = heap.New<SetObject>();
  for (const Value& item : items) set->table.Set(item, Value::None());
  return set;
}

}  // namespace tenon::analyze
