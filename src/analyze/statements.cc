// Statements.
#include <fmt/format.h>

#include "analyze/interpreter.h"
#include "base/error.h"

namespace tenon::analyze {

Flow Interpreter::Run(const Node* block, Namespace* env) {
  for (const Node* statement : block->kids) {
    const Flow flow = RunStatement(statement, env);
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Flow Interpreter::RunStatement(const Node* node, Namespace* env) {
  CountStep();
  frames_.back().at = node;
  switch (node->kind) {
    case Kind::kExpression:
      Eval(node->kids[0], env);
      return Flow::kNext;
    case Kind::kAssign:
    case Kind::kAnnotated:
    case Kind::kAugmented:
      RunAssignment(node, env);
      return Flow::kNext;
    case Kind::kReturn:
      return_value_ = node->kids[0] == nullptr ? Value::None() : Eval(node->kids[0], env);
      return Flow::kReturn;
    case Kind::kIf:
      return RunIf(node, env);
    case Kind::kFor:
    case Kind::kWhile:
      return RunLoop(node, env);
    case Kind::kTry:
      return RunTry(node, env);
    case Kind::kWith:
      return RunWith(node, env);
    case Kind::kMatch:
      return RunMatch(node, env);
    case Kind::kRaise:
      RunRaise(node, env);
      return Flow::kNext;
    case Kind::kAssert:
      RunAssert(node, env);
      return Flow::kNext;
    case Kind::kDelete:
      for (const Node* target : node->kids) Delete(target, env);
      return Flow::kNext;
    case Kind::kGlobal:
      for (const Node* name : node->kids) env->outer_names.push_back(name->text);
      return Flow::kNext;
    case Kind::kImport:
    case Kind::kImportFrom:
      RunImport(node, env);
      return Flow::kNext;
    case Kind::kFunction:
    case Kind::kClass:
      RunDefinition(node, env);
      return Flow::kNext;
    case Kind::kBreak:
      return Flow::kBreak;
    case Kind::kContinue:
      return Flow::kContinue;
    case Kind::kError:
      if (strict) Refuse("this statement");
      return Flow::kNext;
    default:
      return Flow::kNext;
  }
}

Flow Interpreter::RunIf(const Node* node, Namespace* env) {
  const bool taken = Truth(Eval(node->kids[0], env), node->kids[0], env);
  if (taken) return Run(node->kids[1], env);
  return node->kids[2] == nullptr ? Flow::kNext : Run(node->kids[2], env);
}

void Interpreter::RunDefinition(const Node* node, Namespace* env) {
  const bool is_class = node->kind == Kind::kClass;
  AssignName(node->text, is_class ? MakeClass(node, env) : MakeFunction(node, env), env);
}

void Interpreter::RunAssert(const Node* node, Namespace* env) {
  const std::optional<bool> holds = KnownTruth(Eval(node->kids[0], env));
  if (strict && !holds) Refuse("an assertion on a tensor's values");
  if (holds.value_or(true)) return;
  const bool message = node->kids.size() > 1;
  Raise("AssertionError",
        message ? Str(Eval(node->kids[1], env)) : env->module->file->Excerpt(*node->kids[0]));
}

Flow Interpreter::RunLoop(const Node* node, Namespace* env) {
  const bool is_for = node->kind == Kind::kFor;
  const Node* body = node->kids[is_for ? 2 : 1];
  const Node* other = node->kids[is_for ? 3 : 2];
  std::vector<Value> items;
  if (is_for) items = Iterate(Eval(node->kids[1], env));
  for (size_t i = 0; is_for ? i < items.size() : true; ++i) {
    CountStep();
    if (is_for) {
      Assign(node->kids[0], items[i], env);
    } else {
      const Value condition = Eval(node->kids[0], env);
      const std::optional<bool> known = KnownTruth(condition);
      if (!known) {
        if (strict) Refuse("a loop whose condition depends on a tensor's values");
        // Whether to go on is not known: the body would run for ever.
        Assume(node->kids[0], env, false, "loop condition is not known");
      }
      if (!known.value_or(false)) break;
    }
    const Flow flow = Run(body, env);
    if (flow == Flow::kReturn) return flow;
    if (flow == Flow::kBreak) return Flow::kNext;
  }
  return other == nullptr ? Flow::kNext : Run(other, env);
}

namespace {

bool CatchesAttributeError(const Node* statement) {
  for (size_t i = 3; i < statement->kids.size(); ++i) {
    const Node* type = statement->kids[i]->kids[0];
    if (type == nullptr) return true;
    const auto named = [](const Node* one) {
      return one->text == "AttributeError" || one->text == "Exception";
    };
    if (named(type) || std::any_of(type->kids.begin(), type->kids.end(), named)) return true;
  }
  return false;
}

// Counts up for its life.
class Expected {
 public:
  Expected(int* count, bool counts) : count_(counts ? count : nullptr) {
    if (count_ != nullptr) ++*count_;
  }
  ~Expected() {
    if (count_ != nullptr) --*count_;
  }
  Expected(const Expected&) = delete;
  Expected& operator=(const Expected&) = delete;

 private:
  int* count_;
};

}  // namespace

Flow Interpreter::RunTry(const Node* node, Namespace* env) {
  Flow flow = Flow::kNext;
  const auto finally = [&] {
    if (node->kids[2] == nullptr) return Flow::kNext;
    const Value kept = return_value_;
    const Flow last = Run(node->kids[2], env);
    if (last == Flow::kNext) return_value_ = kept;
    return last;
  };
  try {
    try {
      const Expected expected(&attribute_errors_expected_, CatchesAttributeError(node));
      flow = Run(node->kids[0], env);
    } catch (const PythonError& error) {
      flow = RunHandlers(node, env, error);
      const Flow last = finally();
      return last == Flow::kNext ? flow : last;
    }
    if (flow == Flow::kNext && node->kids[1] != nullptr) flow = Run(node->kids[1], env);
  } catch (const PythonError&) {
    const Flow last = finally();
    if (last != Flow::kNext) return last;
    throw;
  }
  const Flow last = finally();
  return last == Flow::kNext ? flow : last;
}

Flow Interpreter::RunHandlers(const Node* node, Namespace* env, const PythonError& error) {
  for (size_t i = 3; i < node->kids.size(); ++i) {
    const Node* handler = node->kids[i];
    bool caught = handler->kids[0] == nullptr;
    if (!caught) {
      const Value type = Eval(handler->kids[0], env);
      caught = IsInstance(error.exception, type) || error.exception.Is(ObjectKind::kUnknown);
    }
    if (!caught) continue;
    if (!handler->text.empty()) AssignName(handler->text, error.exception, env);
    handled_.push_back(error.exception);
    Flow flow = Flow::kNext;
    try {
      flow = Run(handler->kids[1], env);
    } catch (...) {
      handled_.pop_back();
      throw;
    }
    handled_.pop_back();
    return flow;
  }
  throw error;
}

Flow Interpreter::RunWith(const Node* node, Namespace* env) {
  for (size_t i = 1; i < node->kids.size(); ++i) {
    const Value manager = Eval(node->kids[i]->kids[0], env);
    Value entered = manager;
    if (auto* iterator = manager.As<IteratorObject>()) {
      // A @contextmanager function: what it yields; its tail has run already.
      entered = iterator->items.empty() ? Value::None() : iterator->items[0];
    } else if (manager.Is(ObjectKind::kInstance)) {
      const Value enter = Attribute(manager, "__enter__");
      if (enter.Defined()) entered = Call(enter, {});
    }
    if (node->kids[i]->kids[1] != nullptr) Assign(node->kids[i]->kids[1], entered, env);
  }
  return Run(node->kids[0], env);
}

void Interpreter::RunImport(const Node* node, Namespace* env) {
  for (const Node* alias : node->kids) {
    if (node->kind == Kind::kImport) {
      if (alias->kids[0] != nullptr) {
        AssignName(alias->kids[0]->text, Import(alias->text), env);
      } else {
        if (!Exists(alias->text)) Raise("ImportError", "No module named '" + alias->text + "'");
        const std::string root = alias->text.substr(0, alias->text.find('.'));
        AssignName(root, Import(root), env);
      }
      continue;
    }
    if (alias->text == "*") continue;
    const std::string& name = alias->kids[0] != nullptr ? alias->kids[0]->text : alias->text;
    AssignName(name, ImportFromValue(env->module, node, name), env);
  }
}

void Interpreter::RunRaise(const Node* node, Namespace* env) {
  PythonError error;
  if (node->kids[0] == nullptr) {
    error.exception = handled_.empty() ? NewUnknown("exception") : handled_.back();
  } else {
    error.exception = Eval(node->kids[0], env);
    if (error.exception.Is(ObjectKind::kClass)) error.exception = Call(error.exception, {});
  }
  error.file = env->module->file->shown();
  error.line = static_cast<int>(node->line);
  throw error;
}

void Interpreter::RunAssignment(const Node* node, Namespace* env) {
  if (node->kind == Kind::kAssign) {
    const Value value = Eval(node->kids[0], env);
    for (size_t i = 1; i < node->kids.size(); ++i) Assign(node->kids[i], value, env);
    return;
  }
  if (node->kind == Kind::kAnnotated) {
    if (node->kids[2] != nullptr) Assign(node->kids[0], Eval(node->kids[2], env), env);
    return;
  }
  const Node* target = node->kids[0];
  const Value right = Eval(node->kids[1], env);
  frames_.back().at = node;
  const Value left = Eval(target, env);
  if (auto* list = left.As<ListObject>(); list != nullptr && node->op == Operator::kAdd) {
    for (const Value& item : Iterate(right)) list->items.push_back(item);
    Assign(target, left, env);
    return;
  }
  if (auto* dict = left.As<DictObject>(); dict != nullptr && node->op == Operator::kBitOr) {
    if (auto* other = right.As<DictObject>()) {
      for (const auto& [key, value] : other->table.entries) dict->table.Set(key, value);
      return;
    }
  }
  Assign(target, Binary(node->op, left, right), env);
}

void Interpreter::AssignName(const std::string& name, const Value& value, Namespace* env) {
  if (env->scope != nullptr) {
    SetScopeValue(env->scope, name, value);
    return;
  }
  for (const std::string_view outer : env->outer_names) {
    if (outer != name) continue;
    for (Namespace* up = env->parent; up != nullptr; up = up->parent) {
      if (Value* known = up->Find(name)) {
        *known = value;
        return;
      }
    }
    SetScopeValue(&env->module->scope, name, value);
    return;
  }
  if (Value* known = env->Find(name)) {
    *known = value;
  } else {
    env->variables.emplace_back(name, value);
  }
}

void Interpreter::Assign(const Node* target, const Value& value, Namespace* env) {
  switch (target->kind) {
    case Kind::kName:
      // The node's text outlives the environment that keeps a view of it.
      AssignName(target->text, value, env);
      return;
    case Kind::kAttribute:
      SetAttribute(Eval(target->kids[0], env), target->text, value);
      return;
    case Kind::kSubscript: {
      const Value object = Eval(target->kids[0], env);
      SetSubscript(object, Eval(target->kids[1], env), value);
      return;
    }
    case Kind::kTuple:
    case Kind::kList: {
      const size_t count = target->kids.size();
      std::vector<Value> items;
      if (value.Is(ObjectKind::kUnknown)) {
        const std::string text = Repr(value);
        for (size_t i = 0; i < count; ++i) {
          items.push_back(NewUnknown(fmt::format("{}[{}]", text, i)));
        }
      } else {
        items = Iterate(value);
      }
      // A tensor whose first size is not known has as many rows as there are targets.
      for (size_t i = 0; i < count && value.Is(ObjectKind::kTensor) && items.size() == i; ++i) {
        items.push_back(Subscript(value, Value::Int(static_cast<int64_t>(i))));
      }
      size_t star = count;
      for (size_t i = 0; i < count; ++i) {
        if (target->kids[i]->kind == Kind::kStar) star = i;
      }
      if (star == count ? items.size() != count : items.size() + 1 < count) {
        Raise("ValueError",
              fmt::format("cannot unpack {} values into {} targets", items.size(), count));
      }
      for (size_t i = 0; i < count; ++i) {
        if (i < star) {
          Assign(target->kids[i], items[i], env);
        } else if (i == star) {
          const auto first = items.begin() + static_cast<std::ptrdiff_t>(i);
          const auto last = items.end() - static_cast<std::ptrdiff_t>(count - 1 - i);
          Assign(target->kids[i]->kids[0], NewList({first, last}), env);
        } else {
          Assign(target->kids[i], items[items.size() - (count - i)], env);
        }
      }
      return;
    }
    default:
      if (strict) Refuse("this assignment target");
  }
}

void Interpreter::Delete(const Node* target, Namespace* env) {
  if (target->kind == Kind::kTuple) {
    for (const Node* kid : target->kids) Delete(kid, env);
  } else if (target->kind == Kind::kAttribute) {
    DeleteAttribute(Eval(target->kids[0], env), target->text);
  } else if (target->kind == Kind::kSubscript) {
    const Value object = Eval(target->kids[0], env);
    const Value index = Eval(target->kids[1], env);
    if (auto* dict = object.As<DictObject>()) dict->table.Erase(index);
    auto* list = object.As<ListObject>();
    if (list != nullptr && index.IsInt()) {
      const auto size = static_cast<int64_t>(list->items.size());
      const int64_t at = index.integer < 0 ? index.integer + size : index.integer;
      if (at >= 0 && at < size) list->items.erase(list->items.begin() + at);
    }
  }
}

}  // namespace tenon::analyze
