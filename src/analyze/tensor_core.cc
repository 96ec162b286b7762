// Making tensors, their dtypes and broadcasting, attributes, and what is opaque.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "analyze/tensor_functions.h"
#include "base/dtype.h"

namespace tenon::analyze {
namespace {

constexpr std::string_view kDtypes[] = {"bool",    "uint8",    "int8",          "int16",
                                        "int32",   "int64",    "float8_e4m3fn", "float8_e5m2",
                                        "float16", "bfloat16", "float32",       "float64"};

// torch.Tensor.to("cuda"), torch.float and the like.
std::string LongName(std::string_view name) {
  if (name == "float") return "float32";
  if (name == "half") return "float16";
  if (name == "double") return "float64";
  if (name == "long") return "int64";
  if (name == "int") return "int32";
  return std::string(name);
}

int Rank(const std::string& dtype) {
  const auto* found = std::find(std::begin(kDtypes), std::end(kDtypes), dtype);
  return static_cast<int>(found - std::begin(kDtypes));
}

}  // namespace

TensorObject* NewTensor(Interpreter& in, Shape shape, std::string dtype,
                        std::vector<std::string> axes) {
  auto* tensor = in.heap.New<TensorObject>();
  tensor->id = in.tracer.NextId();
  tensor->shape = std::move(shape);
  tensor->dtype = std::move(dtype);
  tensor->axes = std::move(axes);
  for (size_t i = tensor->axes.size(); i < tensor->shape.size(); ++i) {
    const bool tokens = tensor->shape[i] == Dim("T");
    tensor->axes.push_back(tokens ? "tokens" : fmt::format("d{}", i));
  }
  tensor->axes.resize(tensor->shape.size());
  // Outside of a traced forward there are only weights and buffers.
  tensor->is_parameter = !in.tracer.recording;
  return tensor;
}

TensorObject* NewView(Interpreter& in, const TensorObject* base, Shape shape,
                      std::vector<std::string> axes, std::string note) {
  TensorObject* view = NewTensor(in, std::move(shape), base->dtype, std::move(axes));
  view->is_parameter = base->is_parameter;
  view->parameter = base->parameter;
  view->parameter_owner = base->parameter_owner;
  view->known_shape = base->known_shape;
  view->base = base;
  if (!in.tracer.explicit_views || base->is_parameter) {
    view->id = base->id;
    view->view = base->view.empty() ? note : note.empty() ? base->view : base->view + " " + note;
  }
  return view;
}

Value EmitView(Interpreter& in, const std::string& op, const Value& base, TensorObject* view,
               Attr::Map attrs) {
  if (in.tracer.explicit_views && !view->is_parameter) {
    in.tracer.Emit(in, op, {base}, {view}, std::move(attrs));
  }
  return view;
}

Value ViewOf(Interpreter& in, const Value& base, const char* op, Shape shape,
             std::vector<std::string> axes, std::string note, Attr::Map attrs) {
  TensorObject* view =
      NewView(in, base.As<TensorObject>(), std::move(shape), std::move(axes), std::move(note));
  return EmitView(in, op, base, view, std::move(attrs));
}

bool TokenTensor(Interpreter& in, const Value& value) {
  if (value.Is(ObjectKind::kTensor)) return true;
  if (in.strict) in.Refuse("a view of " + Repr(value));
  return false;
}

const TensorFunction* FindTensorFunction(std::string_view name) {
  static const auto* const table = [] {
    auto* map = new std::unordered_map<std::string_view, const TensorFunction*>;
    for (const TensorFunction& row : TensorFunctions()) map->emplace(row.name, &row);
    return map;
  }();
  const auto found = table->find(name);
  return found == table->end() ? nullptr : found->second;
}

std::string DtypeOf(Interpreter&, const Value& value) {
  const auto* external = value.As<ExternalObject>();
  if (external == nullptr || !external->name.starts_with("torch.")) return "";
  const std::string name = LongName(std::string_view(external->name).substr(6));
  return Rank(name) < static_cast<int>(std::size(kDtypes)) ? name : "";
}

std::string Promote(const std::string& a, const std::string& b) {
  const bool half_pair = (a == "float16" && b == "bfloat16") || (a == "bfloat16" && b == "float16");
  if (half_pair) return "float32";
  return Rank(a) >= Rank(b) ? a : b;
}

Shape Broadcast(Interpreter& in, const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  const size_t offset = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    Dim& dim = result[offset + i];
    if (dim == shorter[i] || shorter[i] == Dim(1)) continue;
    if (dim == Dim(1)) {
      dim = shorter[i];
    } else if (in.strict) {
      in.Refuse(fmt::format("a product of shapes {} and {}", DimsText(a), DimsText(b)));
    }
  }
  return result;
}

int AxisOf(const Value& value, size_t rank) {
  if (!value.IsInt()) return -1;
  const int64_t axis =
      value.integer < 0 ? value.integer + static_cast<int64_t>(rank) : value.integer;
  return axis >= 0 && axis < static_cast<int64_t>(rank) ? static_cast<int>(axis) : -1;
}

Value OpaqueCall(Interpreter& in, const std::string& name, const std::vector<Value>& tensors) {
  if (in.strict) in.Refuse("a call of " + name);
  const auto* first = tensors[0].As<TensorObject>();
  TensorObject* out = NewTensor(in, first->shape, first->dtype, first->axes);
  // Said in the operator: what follows is shown with shapes that hold if this one does.
  Attr::Map attrs = {{"reason", Attr("call of " + name + " is not followed")},
                     {"shape", "taken to be that of the first input"}};
  if (const Frame* frame = in.VisibleFrame()) {
    attrs.emplace_back("text", frame->module->file->Excerpt(*frame->at));
  }
  in.tracer.Emit(in, "opaque", tensors, {out}, std::move(attrs));
  return out;
}

Value TensorAttribute(Interpreter& in, const Value& tensor, const std::string& name) {
  auto* t = tensor.As<TensorObject>();
  if (name == "shape") {
    if (!t->known_shape) return in.NewUnknown("shape");
    std::vector<Value> dims;
    for (const Dim& dim : t->shape) dims.push_back(in.FromDim(dim));
    return in.NewTuple(std::move(dims));
  }
  if (name == "dtype") return in.NewExternal("torch." + t->dtype);
  if (name == "ndim") return Value::Int(static_cast<int64_t>(t->shape.size()));
  if (name == "device") return in.Resolve("torch.device_of_tensors");
  if (name == "is_cuda")
    return Value::Bool(in.platform.name == "cuda" || in.platform.name == "rocm");
  if (name == "is_cpu") return Value::Bool(in.platform.name == "cpu");
  if (name == "data") return tensor;
  if (name == "requires_grad") return Value::Bool(false);
  if (name == "T" || name == "mT") {
    Arguments arguments;
    arguments.positional = {tensor, Value::Int(-2), Value::Int(-1)};
    return in.Call(in.NewExternal("torch.Tensor.transpose"), std::move(arguments));
  }
  const std::string method = "torch.Tensor." + name;
  if (FindTensorFunction(method) != nullptr) {
    return in.heap.New<BoundMethodObject>(tensor, in.NewExternal(method));
  }
  if (t->is_parameter) return {};  // attributes set on weights (loaders, scales)
  if (in.strict) in.Refuse("tensor attribute '" + name + "'");
  // Unknown attributes that are called become opaque operators.
  return in.heap.New<BoundMethodObject>(tensor, in.NewExternal(method));
}

}  // namespace tenon::analyze
