// Lazy scopes of modules and class bodies: which statements bind a name, and running just those.
#include <algorithm>

#include "analyze/interpreter.h"
#include "base/error.h"

namespace tenon::analyze {
namespace {

// `a` of `a`, `a.b`, `a[k].c`, `a.f(x)`.
const Node* RootName(const Node* node) {
  while (node != nullptr) {
    switch (node->kind) {
      case Kind::kName:
        return node;
      case Kind::kAttribute:
      case Kind::kSubscript:
      case Kind::kCall:
        node = node->kids[0];
        break;
      default:
        return nullptr;
    }
  }
  return nullptr;
}

std::string FirstPart(const std::string& dotted) { return dotted.substr(0, dotted.find('.')); }

}  // namespace

void Interpreter::FillScope(LazyScope* scope, const Node* block) {
  std::vector<Guard> guards;
  for (const Node* statement : block->kids) AddBindings(scope, statement, guards);
}

void Interpreter::AddTarget(LazyScope* scope, const Node* target, const Binding& binding) {
  switch (target->kind) {
    case Kind::kName: {
      LazyName& name = scope->names[target->text];
      if (name.bindings.empty()) scope->order.push_back(target->text);
      name.bindings.push_back(binding);
      return;
    }
    case Kind::kTuple:
    case Kind::kList:
    case Kind::kStar:
      for (const Node* kid : target->kids) AddTarget(scope, kid, binding);
      return;
    default:
      if (const Node* root = RootName(target)) {
        Binding mutation = binding;
        mutation.mutates = true;
        scope->names[root->text].bindings.push_back(mutation);
      }
  }
}

namespace {

void AddName(LazyScope* scope, const std::string& text, const Binding& binding) {
  LazyName& name = scope->names[text];
  if (name.bindings.empty()) scope->order.push_back(text);
  name.bindings.push_back(binding);
}

void AddImports(LazyScope* scope, const Node* statement, const Binding& binding) {
  for (const Node* alias : statement->kids) {
    if (alias->kids[0] != nullptr) {
      AddName(scope, alias->kids[0]->text, binding);
    } else if (statement->kind == Kind::kImport) {
      AddName(scope, FirstPart(alias->text), binding);
    } else if (alias->text == "*") {
      scope->stars.push_back(binding);
    } else {
      AddName(scope, alias->text, binding);
    }
  }
}

}  // namespace

// The whole loop runs when a name that it binds or changes is read.
void Interpreter::AddLoop(LazyScope* scope, const Node* statement, const Binding& binding) {
  AddTarget(scope, statement->kids[0], binding);
  LazyScope inner;
  FillScope(&inner, statement->kids[2]);
  for (const auto& [name, lazy] : inner.names) {
    Binding loop = binding;
    loop.mutates = true;
    scope->names[name].bindings.push_back(loop);
  }
}

void Interpreter::AddBindings(LazyScope* scope, const Node* statement, std::vector<Guard>& guards) {
  Binding binding{statement, guards, false};
  const auto add_block = [&](const Node* block, size_t arm) {
    if (block == nullptr) return;
    guards.push_back({statement, arm});
    for (const Node* kid : block->kids) AddBindings(scope, kid, guards);
    guards.pop_back();
  };
  switch (statement->kind) {
    case Kind::kAssign:
      for (size_t i = 1; i < statement->kids.size(); ++i) {
        AddTarget(scope, statement->kids[i], binding);
      }
      break;
    case Kind::kAnnotated:
      // Without a value it only declares; dataclasses read it from `order`.
      if (statement->kids[2] != nullptr || statement->kids[0]->kind == Kind::kName) {
        AddTarget(scope, statement->kids[0], binding);
      }
      break;
    case Kind::kAugmented:
      binding.mutates = true;
      AddTarget(scope, statement->kids[0], binding);
      break;
    case Kind::kExpression:
      if (statement->kids[0]->kind == Kind::kCall &&
          statement->kids[0]->kids[0]->kind == Kind::kAttribute) {
        AddTarget(scope, statement->kids[0], binding);
      }
      break;
    case Kind::kFunction:
    case Kind::kClass:
      AddName(scope, statement->text, binding);
      break;
    case Kind::kImport:
    case Kind::kImportFrom:
      AddImports(scope, statement, binding);
      break;
    case Kind::kIf:
      add_block(statement->kids[1], 0);
      add_block(statement->kids[2], 1);
      break;
    case Kind::kTry:
      add_block(statement->kids[0], 0);
      add_block(statement->kids[1], 1);
      add_block(statement->kids[2], 2);
      for (size_t i = 3; i < statement->kids.size(); ++i) add_block(statement->kids[i]->kids[1], i);
      break;
    case Kind::kWith:
      for (const Node* kid : statement->kids[0]->kids) AddBindings(scope, kid, guards);
      break;
    case Kind::kFor:
      AddLoop(scope, statement, binding);
      break;
    default:
      break;
  }
}

size_t Interpreter::DecideArm(LazyScope* scope, const Node* statement) {
  if (const auto known = scope->arms.find(statement); known != scope->arms.end()) {
    return known->second;
  }
  size_t arm = 0;
  if (statement->kind == Kind::kIf) {
    scope->arms[statement] = 1;  // a condition that asks for its own name takes the else arm
    Namespace* env = scope->environment;
    arm = Truth(Eval(statement->kids[0], env), statement->kids[0], env) ? 0 : 1;
  } else {
    // A try at module level guards imports: they exist or not.
    scope->arms[statement] = 0;
    for (const Node* kid : statement->kids[0]->kids) {
      bool found = true;
      if (kid->kind == Kind::kImport) {
        for (const Node* alias : kid->kids) found = found && Exists(alias->text);
      } else if (kid->kind == Kind::kImportFrom) {
        found = Exists(AbsoluteModule(scope->environment->module, kid));
      }
      if (!found) arm = statement->kids.size() > 3 ? 3 : 2;
    }
  }
  scope->arms[statement] = arm;
  return arm;
}

bool Interpreter::Active(LazyScope* scope, const Binding& binding) {
  for (const Guard& guard : binding.guards) {
    const size_t arm = DecideArm(scope, guard.statement);
    // `else` of a try runs after its body, `finally` always.
    const bool after_body = guard.statement->kind == Kind::kTry && guard.arm == 1 && arm == 0;
    const bool always = guard.statement->kind == Kind::kTry && guard.arm == 2;
    if (arm != guard.arm && !after_body && !always) return false;
  }
  return true;
}

void Interpreter::RunBinding(LazyScope* scope, const Binding& binding, const std::string& name) {
  Namespace* env = scope->environment;
  FrameScope frame(*this, {nullptr, env->module, binding.statement});
  if (binding.statement->kind == Kind::kImportFrom) {
    SetScopeValue(scope, name, ImportFromValue(env->module, binding.statement, name));
  } else {
    RunStatement(binding.statement, env);
  }
}

Value Interpreter::ScopeValue(LazyScope* scope, const std::string& name) {
  const auto found = scope->names.find(name);
  if (found == scope->names.end()) return {};
  LazyName& lazy = found->second;
  if (lazy.value.Defined() && lazy.running < 0) return lazy.value;
  // While binding i runs, the name still means what the bindings before it made.
  const int outer = lazy.running;
  const int limit = outer < 0 ? static_cast<int>(lazy.bindings.size()) : outer;
  const Value before = lazy.value;
  if (outer >= 0 && before.Defined()) return before;
  int base = limit - 1;
  while (base >= 0 && (lazy.bindings[static_cast<size_t>(base)].mutates ||
                       !Active(scope, lazy.bindings[static_cast<size_t>(base)]))) {
    --base;
  }
  // Stays valid while other names are added: unordered_map keeps references.
  Value result;
  for (int i = std::max(base, 0); i < limit; ++i) {
    const Binding& binding = lazy.bindings[static_cast<size_t>(i)];
    if (i != base && (!binding.mutates || !Active(scope, binding))) continue;
    if (i != base && !lazy.value.Defined()) continue;
    lazy.running = i;
    try {
      RunBinding(scope, binding, name);
    } catch (...) {
      lazy.running = outer;
      throw;
    }
    lazy.running = outer;
  }
  result = lazy.value;
  if (outer >= 0) lazy.value = before;
  return result;
}

void Interpreter::SetScopeValue(LazyScope* scope, const std::string& name, const Value& value) {
  LazyName& lazy = scope->names[name];
  if (lazy.bindings.empty() && !lazy.value.Defined()) scope->order.push_back(name);
  lazy.value = value;
}

}  // namespace tenon::analyze
