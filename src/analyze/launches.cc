// Calls that end in a kernel whose source is not Python: Triton launches, operators of torch.ops,
// functions of kernel libraries; and custom operators that enter Python again.
#include <fmt/format.h>

#include "analyze/tensor_functions.h"

namespace tenon::analyze {
namespace {

// Packages whose functions are one kernel each.
constexpr std::string_view kKernelRoots[] = {"torch.ops.", "flashinfer.", "deep_gemm.", "tilelang.",
                                             "cutlass.",   "aiter.",      "torch_npu.", "triton."};

// The state that a token mixer keeps -> the operator that its core is.
struct CoreRow {
  std::string_view state;  // of MambaAttentionBackendEnum
  std::string_view op;
  std::string_view kind;
};
constexpr CoreRow kCores[] = {{"MAMBA1", "mamba", "1"},
                              {"MAMBA2", "mamba", "2"},
                              {"SHORT_CONV", "linear_attention", "short_conv"},
                              {"LINEAR", "linear_attention", "lightning"},
                              {"GDN_ATTN", "linear_attention", "gdn"},
                              {"KDA_ATTN", "linear_attention", "kda"}};

void Collect(Interpreter& in, const Value& value, std::vector<Value>* tensors) {
  const auto* tensor = value.As<TensorObject>();
  if (tensor != nullptr) tensors->push_back(value);
  if (!value.Is(ObjectKind::kTuple) && !value.Is(ObjectKind::kList)) return;
  for (const Value& item : in.Iterate(value)) Collect(in, item, tensors);
}

std::vector<Value> Tensors(Interpreter& in, const Arguments& arguments) {
  std::vector<Value> tensors;
  for (const Value& value : arguments.positional) Collect(in, value, &tensors);
  for (const auto& [key, value] : arguments.keywords) Collect(in, value, &tensors);
  return tensors;
}

// One operator: it writes the buffers that hold nothing yet, or else what it returns.
Value EmitKernel(Interpreter& in, const std::string& op, const std::vector<Value>& tensors,
                 Attr::Map attrs) {
  std::vector<Value> inputs;
  std::vector<TensorObject*> outputs;
  for (const Value& value : tensors) {
    auto* tensor = value.As<TensorObject>();
    if (tensor->unwritten) {
      tensor->unwritten = false;
      outputs.push_back(tensor);
    } else {
      inputs.push_back(value);
    }
  }
  Value result = Value::None();
  if (outputs.empty()) {
    const TensorObject* like = nullptr;
    for (const Value& value : inputs) {
      const auto* tensor = value.As<TensorObject>();
      if (like == nullptr && !tensor->is_parameter) like = tensor;
    }
    if (like == nullptr) return in.NewUnknown(op + "(...)");
    TensorObject* made = NewTensor(in, like->shape, like->dtype, like->axes);
    made->known_shape = like->known_shape;
    attrs.emplace_back("shape", "taken to be that of the first input");
    outputs.push_back(made);
    result = made;
  } else if (outputs.size() == 1) {
    result = outputs[0];
  }
  in.tracer.Emit(in, op, inputs, outputs, std::move(attrs));
  return result;
}

// `direct_register_custom_op(op_name="X", op_func=f)` at the top of a module that is read already.
Value RegisteredFunction(Interpreter& in, const std::string& name) {
  const std::string quoted = "op_name=\"" + name + "\"";
  for (const Frame& frame : in.frames()) {
    if (frame.module == nullptr || frame.module->file == nullptr) continue;
    if (frame.module->file->text().find(quoted) == std::string::npos) continue;
    for (const Node* statement : frame.module->file->root()->kids) {
      if (statement->kind != Kind::kExpression || statement->kids[0]->kind != Kind::kCall) continue;
      const Node* call = statement->kids[0];
      const Node* function = nullptr;
      bool named = false;
      for (const Node* argument : call->kids) {
        if (argument->kind != Kind::kKeyword) continue;
        named |= argument->text == "op_name" && argument->kids[0]->text == name;
        if (argument->text == "op_func") function = argument->kids[0];
      }
      if (named && function != nullptr && function->kind == Kind::kName) {
        auto* scope = const_cast<LazyScope*>(&frame.module->scope);
        return in.ScopeValue(scope, function->text);
      }
    }
  }
  return {};
}

// The core of the token mixer whose forward is running: what keeps a state between tokens.
const CoreRow* RunningCore(Interpreter& in) {
  if (in.tracer.modules.empty()) return nullptr;
  const Value module = const_cast<InstanceObject*>(in.tracer.modules.back());
  const Value state = in.Attribute(module, "mamba_type");
  const auto* member = state.As<InstanceObject>();
  const Value* name =
      member == nullptr ? nullptr : const_cast<InstanceObject*>(member)->Find("name");
  for (const CoreRow& row : kCores) {
    if (name != nullptr && Str(*name) == row.state) return &row;
  }
  return nullptr;
}

}  // namespace

bool IsKernelName(std::string_view name) {
  for (const std::string_view root : kKernelRoots) {
    if (name.starts_with(root)) return true;
  }
  return false;
}

Value LaunchKernel(Interpreter& in, const std::string& name, Arguments arguments) {
  constexpr std::string_view kVllm = "torch.ops.vllm.";
  std::string operation = name;
  if (operation.ends_with(".default")) operation.resize(operation.size() - 8);
  if (operation.starts_with(kVllm)) {
    operation = operation.substr(kVllm.size());
    if (const CoreRow* core = RunningCore(in)) {
      return EmitKernel(in, std::string(core->op), Tensors(in, arguments),
                        {{"kind", std::string(core->kind)}, {"core", operation}});
    }
    const Value function = RegisteredFunction(in, operation);
    if (function.Is(ObjectKind::kFunction)) {
      in.tracer.custom_ops.push_back(operation);
      struct Leave {
        std::vector<std::string>& stack;
        ~Leave() { stack.pop_back(); }
      } leave{in.tracer.custom_ops};
      return in.Call(function, std::move(arguments));
    }
  }
  const std::vector<Value> tensors = Tensors(in, arguments);
  if (tensors.empty()) return in.NewUnknown(name + "(...)");
  return EmitKernel(in, "fused_kernel", tensors,
                    {{"kernel", operation}, {"covers", Attr(Attr::List{})}});
}

}  // namespace tenon::analyze
