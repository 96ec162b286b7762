// getattr, hasattr, setattr, delattr.
#include "analyze/interpreter.h"

namespace tenon::analyze {
namespace {

using In = Interpreter&;
using Args = Arguments&;

Value First(Args a) { return Argument(a, 0, ""); }
Value Second(Args a) { return Argument(a, 1, ""); }

Value GetAttr(In in, Args a) {
  const std::string* name = Text(Second(a));
  if (name == nullptr) return in.NewUnknown("getattr(...)");
  const bool has_default = a.positional.size() > 2;
  try {
    const Value value = in.Attribute(First(a), *name);
    if (value.Defined()) return value;
  } catch (const PythonError& error) {
    if (!has_default || error.Name() != "AttributeError") throw;
  }
  if (has_default) return a.positional[2];
  return in.RequireAttribute(First(a), *name);
}

Value HasAttr(In in, Args a) {
  const std::string* name = Text(Second(a));
  if (name == nullptr) return in.NewUnknown("hasattr(...)");
  // An installed package is of the release that this vLLM asks for, with all its operators.
  if (const auto* external = First(a).As<ExternalObject>()) {
    constexpr std::string_view kOperators = "torch.ops._";
    return Value::Bool(!external->name.starts_with(kOperators) ||
                       in.platform.Installed("vllm." + external->name.substr(10)));
  }
  try {
    const Value value = in.Attribute(First(a), *name);
    const auto* instance = First(a).As<InstanceObject>();
    const bool open = First(a).Is(ObjectKind::kUnknown) || (instance != nullptr && instance->open);
    if (open && (value.Is(ObjectKind::kUnknown) || value.Is(ObjectKind::kExternal))) {
      return in.NewUnknown("hasattr(" + Repr(First(a)) + ", '" + *name + "')");
    }
    return Value::Bool(value.Defined());
  } catch (const PythonError& error) {
    if (error.Name() != "AttributeError") throw;
    return Value::Bool(false);
  }
}

Value SetAttr(In in, Args a) {
  if (const std::string* name = Text(Second(a))) {
    in.SetAttribute(First(a), *name, a.positional.at(2));
  }
  return Value::None();
}

Value DelAttr(In in, Args a) {
  if (const std::string* name = Text(Second(a))) in.DeleteAttribute(First(a), *name);
  return Value::None();
}

}  // namespace

void AddBuiltinAttributes(std::unordered_map<std::string, NativeFunction>* table) {
  table->insert(
      {{"getattr", GetAttr}, {"hasattr", HasAttr}, {"setattr", SetAttr}, {"delattr", DelAttr}});
}

}  // namespace tenon::analyze
