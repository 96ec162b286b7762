// Intrinsics of stand-in texts that make operators and weights.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "analyze/interpreter.h"
#include "analyze/layers.h"
#include "analyze/tensor_functions.h"

namespace tenon::analyze {
namespace {

using In = Interpreter&;
using Args = Arguments&;

std::string DtypeOr(In in, const Value& value, const std::string& fallback) {
  if (const std::string* text = Text(value)) return *text;
  const std::string named = value.Defined() ? DtypeOf(in, value) : "";
  return named.empty() ? fallback : named;
}

std::optional<Shape> ShapeOf(In in, const Value& value) {
  Shape shape;
  if (value.Is(ObjectKind::kUnknown)) return std::nullopt;
  for (const Value& item : in.Iterate(value)) {
    const auto dim = in.ToDim(item);
    if (!dim) return std::nullopt;
    shape.push_back(*dim);
  }
  return shape;
}

// Constant attributes of the layer's row: "kind=yarn" as text, number or boolean.
void AddRowAttributes(const InstanceObject* module, Attr::Map* attrs) {
  for (const Object* entry : module->cls->linearisation) {
    if (entry->kind != ObjectKind::kClass) continue;
    const auto* cls = static_cast<const ClassObject*>(entry);
    if (cls->layer_row < 0) continue;
    std::string_view row = LayerTable()[static_cast<size_t>(cls->layer_row)].attrs;
    while (!row.empty()) {
      const std::string_view pair = row.substr(0, row.find(','));
      row.remove_prefix(std::min(row.size(), pair.size() + 1));
      const std::string key(pair.substr(0, pair.find('=')));
      const std::string text(pair.substr(pair.find('=') + 1));
      const auto known = std::find_if(attrs->begin(), attrs->end(),
                                      [&](const auto& attr) { return attr.first == key; });
      Attr value(text);
      double number = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      if (error == std::errc() && end == text.data() + text.size()) value = Attr(number);
      if (text == "true" || text == "false") value = Attr(text == "true");
      if (known != attrs->end()) {
        known->second = value;
      } else {
        attrs->emplace_back(key, value);
      }
    }
    return;
  }
}

// Output tensors of __emit__: like=, outs=, shapes= with dtypes=, or shape= with dtype= and axes=
// (the name of the last axis; the others keep the first input's names).
std::vector<TensorObject*> Outputs(In in, const std::vector<Value>& inputs, Args a) {
  const auto* first = inputs.empty() ? nullptr : inputs[0].As<TensorObject>();
  const std::string dtype =
      DtypeOr(in, Argument(a, 99, "dtype"), first == nullptr ? in.platform.dtype : first->dtype);
  const auto like = [&](const Value& value) -> TensorObject* {
    const auto* t = value.As<TensorObject>();
    if (t == nullptr) return NewTensor(in, {}, dtype);
    TensorObject* out = NewTensor(in, t->shape, t->dtype, t->axes);
    out->base = t->base;  // names of earlier shapes come back after the operator, too
    out->known_shape = t->known_shape;
    return out;
  };
  if (const Value* one = a.Find("like")) return {like(*one)};
  std::vector<TensorObject*> outs;
  if (const Value* many = a.Find("outs")) {
    for (const Value& value : in.Iterate(*many)) outs.push_back(like(value));
    return outs;
  }
  std::vector<Value> shapes;
  std::vector<std::string> dtypes;
  if (const Value* many = a.Find("shapes")) {
    shapes = in.Iterate(*many);
    for (const Value& name : in.Iterate(*a.Find("dtypes"))) dtypes.push_back(Str(name));
  } else {
    shapes = {Argument(a, 99, "shape")};
    dtypes = {dtype};
  }
  const Value axis = Argument(a, 99, "axes");
  for (size_t i = 0; i < shapes.size(); ++i) {
    const auto shape = ShapeOf(in, shapes[i]);
    std::vector<std::string> axes;
    if (first != nullptr && shape && !shape->empty()) {
      for (size_t k = 0; k + 1 < shape->size() && k < first->axes.size(); ++k) {
        axes.push_back(first->axes[k]);
      }
      while (axes.size() + 1 < shape->size()) axes.push_back(fmt::format("d{}", axes.size()));
      axes.push_back(Text(axis) != nullptr ? *Text(axis)
                     : first->axes.empty() ? "d0"
                                           : first->axes.back());
    }
    outs.push_back(NewTensor(in, shape.value_or(Shape{}), dtypes[i], std::move(axes)));
    outs.back()->known_shape = shape.has_value() && (first == nullptr || first->known_shape);
  }
  return outs;
}

Value Emit(In in, Args a) {
  std::vector<Value> inputs;
  bool invariant = true;
  for (const Value& value : in.Iterate(a.positional.at(1))) {
    const auto* tensor = value.As<TensorObject>();
    if (tensor == nullptr) continue;
    inputs.push_back(value);
    invariant = invariant && tensor->is_parameter;
  }
  const std::vector<TensorObject*> outs = Outputs(in, inputs, a);
  std::vector<Value> values(outs.begin(), outs.end());
  const Value result = values.size() == 1 ? values[0] : in.NewTuple(values);
  if (invariant) {
    for (TensorObject* out : outs) out->is_parameter = true;
    return result;
  }
  static constexpr std::string_view kShapeWords[] = {"like",  "outs",  "shapes", "dtypes",
                                                     "shape", "dtype", "axes",   "implicit"};
  Attr::Map attrs;
  for (const auto& [key, value] : a.keywords) {
    const bool shape_word =
        std::find(std::begin(kShapeWords), std::end(kShapeWords), key) != std::end(kShapeWords);
    if (!shape_word && !value.IsNone()) attrs.emplace_back(key, in.ToAttr(value));
  }
  const std::string op = Str(a.positional[0]);
  if (!in.tracer.modules.empty() && op != "all_reduce" && op != "all_gather") {
    AddRowAttributes(in.tracer.modules.back(), &attrs);
  }
  Op& emitted = in.tracer.Emit(in, op, inputs, outs, std::move(attrs));
  const Value implicit = Argument(a, 99, "implicit");
  emitted.implicit = implicit.IsBool() && implicit.boolean;
  return result;
}

Value Param(In in, Args a) {
  const auto shape = ShapeOf(in, a.positional.at(0));
  const std::string dtype = DtypeOr(in, Argument(a, 1, "dtype"), in.platform.dtype);
  TensorObject* tensor = NewTensor(in, shape.value_or(Shape{}), dtype);
  tensor->known_shape = shape.has_value();
  tensor->is_parameter = true;
  return tensor;
}

Value Group(In in, Args a) {
  const Value name = a.positional.at(0);
  if (name.IsNone()) {
    if (!in.tracer.groups.empty()) in.tracer.groups.pop_back();
  } else {
    in.tracer.groups.push_back(Str(name));
  }
  return Value::None();
}

Value NameOf(In in, Args a) {
  const auto* instance = a.positional.at(0).As<InstanceObject>();
  return in.NewString(instance == nullptr ? "" : instance->name);
}

Value Compiled(In, Args a) {
  const Value function = a.positional.at(0);
  if (auto* f = function.As<FunctionObject>()) f->compiled = true;
  return function;
}

Value Open(In, Args a) {
  auto* instance = a.positional.at(0).As<InstanceObject>();
  if (instance == nullptr) return a.positional.at(0);
  instance->open = true;
  instance->label = Str(a.positional.at(1));
  return instance;
}

// An instance of a class whose source is read only when an attribute is missing.
Value Later(In in, Args a) {
  auto* instance = in.Blank(a.positional.at(0).As<ClassObject>());
  instance->later_class = Str(a.positional.at(1));
  instance->label = Str(a.positional.at(2));
  instance->open = true;
  for (const auto& [key, value] : a.keywords) instance->attributes.emplace_back(key, value);
  return instance;
}

Value Copy(In in, Args a) {
  const Value value = a.positional.at(0);
  if (value.Is(ObjectKind::kList)) return in.NewList(in.Iterate(value));
  if (const auto* dict = value.As<DictObject>()) {
    auto* fresh = in.heap.New<DictObject>();
    fresh->table = dict->table;
    fresh->default_factory = dict->default_factory;
    return fresh;
  }
  const auto* instance = value.As<InstanceObject>();
  if (instance == nullptr || instance->cls->is_enum) return value;
  auto* fresh = in.Blank(instance->cls);
  fresh->attributes = instance->attributes;
  fresh->open = instance->open;
  fresh->label = instance->label;
  fresh->native = instance->native;
  fresh->later_class = instance->later_class;
  return fresh;
}

Value Log(In, Args a) { return Value::Float(std::log(a.positional.at(0).AsReal())); }

// Arguments by the parameter names of the source's own function, behind its stand-in.
Value BoundArguments(In in, Args a) {
  const std::string dotted = Str(a.positional.at(0));
  const size_t dot = dotted.rfind('.');
  auto* dict = in.heap.New<DictObject>();
  ModuleObject* module = in.Module(dotted.substr(0, dot));
  Value function =
      module == nullptr ? Value() : in.ScopeValue(in.SourceScope(module), dotted.substr(dot + 1));
  Arguments arguments;
  arguments.positional = in.Iterate(a.positional.at(1));
  if (auto* cls = function.As<ClassObject>()) {
    function = in.ClassAttribute(cls, "__init__");
    arguments.positional.insert(arguments.positional.begin(), Value::None());
  }
  for (const auto& [key, value] : a.positional.at(2).As<DictObject>()->table.entries) {
    arguments.keywords.emplace_back(Str(key), value);
  }
  if (const auto* source = function.As<FunctionObject>()) {
    for (const auto& [name, value] : in.Bind(source, std::move(arguments))) {
      dict->table.Set(in.NewString(name), value);
    }
  }
  return dict;
}

}  // namespace

void AddEmitIntrinsics(std::unordered_map<std::string, NativeFunction>* table) {
  table->insert({{"__emit__", Emit},
                 {"__param__", Param},
                 {"__group__", Group},
                 {"__name_of__", NameOf},
                 {"__compiled__", Compiled},
                 {"__open__", Open},
                 {"__later__", Later},
                 {"__copy__", Copy},
                 {"__log__", Log},
                 {"__arguments__", BoundArguments}});
}

}  // namespace tenon::analyze
