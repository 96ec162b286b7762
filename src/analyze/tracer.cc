#include "analyze/tracer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "analyze/interpreter.h"

namespace tenon::analyze {
namespace {

bool IsNumber(const std::string& name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c); });
}

}  // namespace

std::string ModulePath(const InstanceObject* module, const InstanceObject* top) {
  std::string path;
  for (; module != nullptr && module != top; module = module->parent) {
    if (module->name.empty()) continue;
    path = path.empty() ? module->name : module->name + "." + path;
  }
  return path;
}

// Path of a module that may live in another layer: by the attribute under which the running module
// holds it.
std::string Tracer::PathInLayer(const InstanceObject* module) const {
  const InstanceObject* top =
      current_layer_ < 0 ? nullptr : layers[static_cast<size_t>(current_layer_)].layer;
  const InstanceObject* at = module;
  while (at != nullptr && at != top) at = at->parent;
  if (at == top) return ModulePath(module, top);
  for (size_t i = modules.size(); i-- > 0;) {
    for (const auto& [key, value] : modules[i]->attributes) {
      if (value.As<InstanceObject>() != module) continue;
      const std::string holder = ModulePath(modules[i], top);
      return holder.empty() ? key : holder + "." + key;
    }
  }
  return ModulePath(module, top);
}

TensorUse Tracer::Use(const TensorObject* tensor) const {
  TensorUse use;
  use.id = tensor->id;
  use.shape = tensor->shape;
  use.axes = tensor->axes;
  use.dtype = tensor->dtype;
  use.view = tensor->view;
  if (tensor->is_parameter) {
    const auto* owner = static_cast<const InstanceObject*>(tensor->parameter_owner);
    std::string path = owner == nullptr ? "" : PathInLayer(owner);
    if (!tensor->parameter.empty()) path += (path.empty() ? "" : ".") + tensor->parameter;
    use.param = path.empty() ? "constant" : path;
  }
  return use;
}

Op& Tracer::Emit(Interpreter& in, const std::string& name, const std::vector<Value>& inputs,
                 const std::vector<TensorObject*>& outputs, Attr::Map attrs) {
  TracedOp traced;
  Op& op = traced.op;
  op.op = name;
  op.attrs = std::move(attrs);
  for (const Value& input : inputs) {
    if (const auto* tensor = input.As<TensorObject>()) op.in.push_back(Use(tensor));
  }
  for (const TensorObject* output : outputs) op.out.push_back(Use(output));
  if (!groups.empty()) op.group = groups.back();
  if (!custom_ops.empty()) op.inside_custom_op = custom_ops.back();
  if (!modules.empty()) {
    const std::string path = PathInLayer(modules.back());
    if (!path.empty()) op.name = path;
  }
  for (const Frame& frame : in.frames()) {
    if (frame.function != nullptr && frame.function->compiled) {
      op.attrs.emplace_back("compiled_function", frame.function->name);
      break;
    }
  }
  const Frame* visible = in.VisibleFrame();
  for (const Frame& frame : in.frames()) {
    if (frame.module == nullptr || frame.module->is_stand_in || frame.at == nullptr) continue;
    if (&frame == visible) {
      op.file = frame.module->file->shown();
      op.line = static_cast<int>(frame.at->line);
      op.symbol = frame.function == nullptr ? "" : frame.function->qualified;
    } else {
      op.stack.push_back(fmt::format("{}:{}", frame.module->file->shown(), frame.at->line));
    }
  }
  traced.modules = modules;
  traced.layer_call = current_layer_;
  if (!recording) {
    // Weights prepared while the model is built are no operators of its forward.
    static thread_local TracedOp discarded;
    discarded = std::move(traced);
    return discarded.op;
  }
  ops.push_back(std::move(traced));
  return ops.back().op;
}

void Tracer::BeginModule(const InstanceObject* module) {
  modules.push_back(module);
  if (current_layer_ >= 0 || !recording) return;
  const InstanceObject* parent = module->parent;
  if (parent == nullptr ||
      (parent->cls->name != "ModuleList" && parent->cls->name != "ModuleDict") ||
      !IsNumber(module->name))
    return;
  current_layer_ = static_cast<int>(layers.size());
  layer_depth_ = modules.size();
  layers.push_back({module, std::stoi(module->name), ops.size(), ops.size()});
}

void Tracer::EndModule() {
  if (current_layer_ >= 0 && modules.size() == layer_depth_) {
    layers[static_cast<size_t>(current_layer_)].last_op = ops.size();
    current_layer_ = -1;
  }
  modules.pop_back();
}

}  // namespace tenon::analyze
