#include "analyze/interpreter.h"

#include <fmt/format.h>

#include "base/error.h"

namespace tenon::analyze {

std::string PythonError::Name() const {
  const auto* instance = exception.As<InstanceObject>();
  return instance != nullptr ? instance->cls->name : Repr(exception);
}

std::string PythonError::Message() const {
  auto* instance = exception.As<InstanceObject>();
  if (instance == nullptr) return Repr(exception);
  const Value* arguments = instance->Find("args");
  const auto* tuple = arguments == nullptr ? nullptr : arguments->As<TupleObject>();
  return tuple == nullptr || tuple->items.empty() ? "" : Str(tuple->items[0]);
}

Interpreter::Interpreter(SourceTree& tree, const Platform& known) : platform(known), tree_(tree) {
  frames_.push_back({});
}

Value Interpreter::NewUnknown(std::string expression) {
  // Expressions of expressions grow without bound; their beginning says enough.
  static constexpr size_t kLongest = 160;
  if (expression.size() > kLongest) expression = expression.substr(0, kLongest) + "...";
  return heap.New<UnknownObject>(std::move(expression));
}

const Frame* Interpreter::VisibleFrame() const {
  for (size_t i = frames_.size(); i-- > 0;) {
    const Frame& frame = frames_[i];
    if (frame.module != nullptr && !frame.module->is_stand_in && frame.at != nullptr) {
      return &frame;
    }
  }
  return nullptr;
}

void Interpreter::Raise(const std::string& type, const std::string& message) {
  PythonError error;
  Arguments arguments;
  arguments.positional = {NewString(message)};
  const Value cls = ModuleAttribute(Module("builtins"), type);
  error.exception = Call(cls, std::move(arguments));
  if (const Frame* frame = VisibleFrame()) {
    error.file = frame->module->file->shown();
    error.line = static_cast<int>(frame->at->line);
  }
  throw error;
}

void Interpreter::Refuse(const std::string& construct) {
  const Frame* frame = VisibleFrame();
  TENON_ASSERT(frame != nullptr, "refused outside of a source: {}", construct);
  throw UsageError(fmt::format("{}:{}: {} is not supported: `{}`", frame->module->file->shown(),
                               frame->at->line, construct,
                               frame->module->file->Excerpt(*frame->at)));
}

void Interpreter::Assume(const Node* condition, Namespace* env, bool taken,
                         const std::string& why) {
  if (env->module->is_stand_in) return;
  const SourceFile* file = env->module->file;
  Assumption assumption{file->shown(), static_cast<int>(condition->line), file->Excerpt(*condition),
                        taken, why};
  for (const Assumption& known : assumptions) {
    if (known.file == assumption.file && known.line == assumption.line &&
        known.condition == assumption.condition) {
      return;
    }
  }
  assumptions.push_back(std::move(assumption));
}

Value Interpreter::FromAttr(const Attr& attr) {
  if (std::holds_alternative<std::monostate>(attr.value)) return Value::None();
  if (const auto* v = std::get_if<bool>(&attr.value)) return Value::Bool(*v);
  if (const auto* v = std::get_if<int64_t>(&attr.value)) return Value::Int(*v);
  if (const auto* v = std::get_if<double>(&attr.value)) return Value::Float(*v);
  if (const auto* v = std::get_if<std::string>(&attr.value)) return NewString(*v);
  if (const auto* list = std::get_if<Attr::List>(&attr.value)) {
    std::vector<Value> items;
    for (const Attr& item : *list) items.push_back(FromAttr(item));
    return NewList(std::move(items));
  }
  auto* dict = heap.New<DictObject>();
  for (const auto& [key, value] : std::get<Attr::Map>(attr.value)) {
    dict->table.Set(NewString(key), FromAttr(value));
  }
  return dict;
}

Attr Interpreter::ToAttr(const Value& value) {
  switch (value.tag) {
    case Value::Tag::kBool:
      return value.boolean;
    case Value::Tag::kInt:
      return value.integer;
    case Value::Tag::kFloat:
      return value.real;
    case Value::Tag::kObject:
      break;
    default:
      return {};
  }
  if (const std::string* text = Text(value)) return *text;
  if (value.Is(ObjectKind::kList) || value.Is(ObjectKind::kTuple)) {
    Attr::List items;
    for (const Value& item : Iterate(value)) items.push_back(ToAttr(item));
    return items;
  }
  if (const auto* dict = value.As<DictObject>()) {
    Attr::Map map;
    for (const auto& [key, item] : dict->table.entries) map.emplace_back(Str(key), ToAttr(item));
    return map;
  }
  const auto* instance = value.As<InstanceObject>();
  if (instance != nullptr && instance->native.Defined()) return ToAttr(instance->native);
  if (const auto* external = value.As<ExternalObject>()) {
    return external->name.starts_with("torch.") ? external->name.substr(6) : external->name;
  }
  return Repr(value);
}

}  // namespace tenon::analyze
