// Lowers one PyTorch-style function with the interpreter of the models: views are operators, and
// what is not understood is an error with its place.
#include <fmt/format.h>

#include "analyze/interpreter.h"
#include "analyze/tensor_functions.h"
#include "base/dtype.h"
#include "base/text.h"

namespace tenon::analyze {
namespace {

// "bf16[tokens, 2*hidden]"; nothing when it is not of that form.
std::optional<TensorUse> ParseTensor(std::string_view text) {
  const size_t open = text.find('[');
  if (open == std::string_view::npos || !text.ends_with("]")) return std::nullopt;
  const auto dtype = ParseDType(Strip(text.substr(0, open)));
  if (!dtype) return std::nullopt;
  TensorUse use;
  use.dtype = TorchName(*dtype);
  const std::string_view sizes = text.substr(open + 1, text.size() - open - 2);
  if (Strip(sizes).empty()) return use;
  for (const std::string& part : Split(sizes, ',')) {
    const auto dim = Dim::Parse(part);
    if (!dim) return std::nullopt;
    use.shape.push_back(*dim);
    // A size that is one name names its axis, too.
    const bool plain = dim->symbols() == std::vector<std::string>{dim->text()};
    use.axes.push_back(plain ? dim->text() : fmt::format("d{}", use.axes.size()));
  }
  return use;
}

class FunctionTracer {
 public:
  FunctionTracer(Interpreter& in, FunctionObject* function) : in_(in), function_(function) {}

  FunctionTrace Run() {
    FunctionTrace trace;
    trace.name = function_->name;
    trace.file = function_->file->shown();
    trace.line = static_cast<int>(function_->node->line);
    Arguments arguments;
    const auto& parameters = function_->node->kids[0]->kids;
    for (size_t i = 0; i < parameters.size(); ++i) {
      const Node* parameter = parameters[i];
      const auto kind = static_cast<ParameterKind>(parameter->integer);
      if (kind == ParameterKind::kStar || kind == ParameterKind::kDoubleStar) {
        Fail(parameter, "a variable number of arguments");
      }
      FunctionArgument argument;
      const Value value = Bound(parameter, function_->defaults[i], &argument);
      arguments.keywords.emplace_back(parameter->text, value);
      trace.arguments.push_back(std::move(argument));
    }
    const Node* body = function_->file->Body(*function_->node);
    if (!body->kids.empty() && body->kids[0]->kind == Kind::kExpression &&
        body->kids[0]->kids[0]->kind == Kind::kString) {
      trace.doc = body->kids[0]->kids[0]->text;
    }
    in_.tracer.recording = true;
    AddResults(Called(std::move(arguments)), &trace);
    for (const TracedOp& traced : in_.tracer.ops) {
      Op op = traced.op;
      op.i = static_cast<int>(trace.ops.size());
      trace.ops.push_back(std::move(op));
    }
    return trace;
  }

 private:
  [[noreturn]] void Fail(const Node* at, const std::string& what) {
    throw UsageError(fmt::format("{}:{}: {} is not supported: `{}`", function_->file->shown(),
                                 at->line, what, function_->file->Excerpt(*at)));
  }

  Value Called(Arguments arguments) {
    try {
      return in_.Call(function_, std::move(arguments));
    } catch (const PythonError& error) {
      throw UsageError(fmt::format("{}:{}: {} raises {}: {}", error.file, error.line,
                                   function_->name, error.Name(), error.Message()));
    } catch (const LimitReached& limit) {
      throw UsageError(fmt::format("{}:{}: {} was not followed beyond {}", function_->file->shown(),
                                   function_->node->line, function_->name, limit.what));
    }
  }

  Value Bound(const Node* parameter, const Value& fallback, FunctionArgument* argument) {
    argument->name = parameter->text;
    const Node* annotation = parameter->kids[1];
    if (annotation != nullptr && annotation->kind == Kind::kString) {
      argument->tensor = ParseTensor(annotation->text);
      if (!argument->tensor) {
        Fail(parameter, fmt::format("the annotation '{}': it must be like \"bf16[tokens, hidden]\"",
                                    annotation->text));
      }
      TensorObject* tensor =
          NewTensor(in_, argument->tensor->shape, argument->tensor->dtype, argument->tensor->axes);
      tensor->is_parameter = false;
      argument->tensor->id = tensor->id;
      return tensor;
    }
    if (annotation != nullptr && annotation->kind == Kind::kName) {
      argument->scalar_type = annotation->text;
    }
    if (fallback.Defined()) {
      argument->default_value = in_.ToAttr(fallback);
      return fallback;
    }
    if (argument->scalar_type == "int") return in_.FromDim(Dim(parameter->text));
    if (argument->scalar_type != "float") {
      Fail(parameter,
           "an argument that is neither a tensor like \"bf16[tokens, hidden]\" nor a "
           "float or int");
    }
    const Value scalar = in_.NewUnknown(parameter->text);
    scalar.As<UnknownObject>()->is_argument = true;
    return scalar;
  }

  void AddResults(const Value& result, FunctionTrace* trace) {
    const bool many = result.Is(ObjectKind::kTuple) || result.Is(ObjectKind::kList);
    for (const Value& one : many ? in_.Iterate(result) : std::vector<Value>{result}) {
      const auto* tensor = one.As<TensorObject>();
      if (tensor == nullptr) Fail(function_->node, "a result that is no tensor: " + Repr(one));
      trace->results.push_back(in_.tracer.Use(tensor));
    }
  }

  Interpreter& in_;
  FunctionObject* function_;
};

std::string FunctionNames(const SourceFile& file) {
  std::string names;
  for (const Node* statement : file.root()->kids) {
    if (statement->kind != Kind::kFunction) continue;
    names += (names.empty() ? "" : ", ") + statement->text;
  }
  return names.empty() ? "none" : names;
}

}  // namespace

FunctionTrace TraceFunction(const std::filesystem::path& path, std::string_view name) {
  SourceTree tree;
  AnalyzeOptions options;
  options.platform = "cpu";
  options.dtype = "float32";
  options.tp = 1;
  const Platform platform = MakePlatform(options);
  Interpreter in(tree, platform);
  in.strict = true;
  in.tracer.explicit_views = true;
  in.tracer.recording = false;
  const std::string dotted = "user." + path.stem().string();
  tree.AddModule(dotted, path);
  ModuleObject* module = in.Parsed(in.Module(dotted));
  for (const SyntaxProblem& problem : module->file->problems()) {
    throw UsageError(
        fmt::format("{}:{}:{}: syntax error", path.string(), problem.line, problem.column));
  }
  if (!module->scope.names.contains(std::string(name))) {
    throw UsageError(fmt::format("{} has no function '{}'; it has {}", path.string(), name,
                                 FunctionNames(*module->file)));
  }
  const Value value = in.ModuleAttribute(module, std::string(name));
  auto* function = value.As<FunctionObject>();
  if (function == nullptr) {
    throw UsageError(fmt::format("{}: '{}' is no plain function", path.string(), name));
  }
  return FunctionTracer(in, function).Run();
}

}  // namespace tenon::analyze
