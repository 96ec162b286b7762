// Stage `trace`: interprets forward of the model, then compute_logits.
#include <fmt/format.h>

#include "analyze/session.h"
#include "analyze/tensor_functions.h"

namespace tenon::analyze {
namespace {

// What the runner passes to a parameter of that name.
Value RunnerArgument(Interpreter& in, const std::string& name) {
  const Dim tokens = Dim("T");
  if (name == "input_ids" || name == "positions") {
    TensorObject* tensor = NewTensor(in, {tokens}, "int64", {"tokens"});
    tensor->is_parameter = false;
    return tensor;
  }
  if (name == "hidden_states" || name == "previous_hidden_states") {
    const auto hidden = in.platform.facts.find("hidden_size");  // of the model that drafts for
    return NewTensor(in, {tokens, in.ToDim(in.FromAttr(hidden->second)).value_or(Dim("hidden"))},
                     in.platform.dtype, {"tokens", "hidden"});
  }
  if (name == "intermediate_tensors" || name == "inputs_embeds") return Value::None();
  return {};
}

void Report(Interpreter& in, const std::string& where, const PythonError& error) {
  in.diagnostics.push_back({"warning", "E10",
                            fmt::format("{}:{}: {} raises {}: {}", error.file, error.line, where,
                                        error.Name(), error.Message()),
                            error.file, error.line});
}

}  // namespace

void TraceModel(Session& s) {
  Interpreter& in = *s.in;
  if (!s.model.Defined()) return;
  const Value forward = in.ClassAttribute(s.main, "forward");
  const auto* function = forward.As<FunctionObject>();
  if (function == nullptr) return;
  in.tracer.recording = true;
  Arguments arguments;
  for (const Node* parameter : function->node->kids[0]->kids) {
    const Value value = RunnerArgument(in, parameter->text);
    if (value.Defined()) arguments.keywords.emplace_back(parameter->text, value);
  }
  Value hidden;
  try {
    hidden = in.Call(s.model, std::move(arguments));
  } catch (const PythonError& error) {
    Report(in, "forward of " + s.main->name, error);
    return;
  }
  if (hidden.Is(ObjectKind::kTuple)) hidden = in.Iterate(hidden)[0];
  if (!hidden.Is(ObjectKind::kTensor)) return;
  if (!in.ClassAttribute(s.main, "compute_logits").Defined()) return;
  try {
    Arguments logits;
    logits.positional = {hidden};
    in.CallMethod(s.model, "compute_logits", std::move(logits));
  } catch (const PythonError& error) {
    Report(in, "compute_logits of " + s.main->name, error);
  }
}

}  // namespace tenon::analyze
