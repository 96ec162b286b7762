#include "tenon/op.h"

#include "backend/cpu/parallel.h"
#include "base/error.h"
#include "ops/resolve_cache.h"

namespace tenon {
Op Op::Find(std::string_view name) { return Op(&ops::FindOperator(name)); }
std::vector<std::string> Op::Names() { return ops::OperatorNames(); }

const std::string& Op::name() const { return form_->name(); }
const std::string& Op::doc() const { return form_->op->contract().doc(); }
std::string Op::schema() const { return form_->op->contract().Schema(form_->in_place); }

std::vector<Argument> Op::Arrange(std::span<const std::pair<std::string, Argument>> named) const {
  const std::deque<ops::Param>& params = form_->op->contract().params();
  std::vector<Argument> arguments(params.size());
  for (const auto& [argument, value] : named) {
    size_t i = 0;
    while (i < params.size() && params[i].name != argument) ++i;
    TENON_CHECK(i < params.size(), "{}: has no argument {}; its schema is {}", name(), argument,
                schema());
    arguments[i] = value;
  }
  return arguments;
}

std::vector<TensorSpec> Op::Infer(std::span<const Argument> arguments) const {
  std::vector<TensorSpec> specs;
  if (form_->in_place != nullptr) {
    ops::Resolve(*form_, arguments);
    return specs;
  }
  for (const ops::BoundOutput& output : ops::Resolve(*form_, arguments).outputs) {
    specs.push_back(output.spec);
  }
  return specs;
}

void Op::Run(std::span<const Argument> arguments, std::span<const Tensor> results) const {
  ops::ResolveRepeated(*form_, arguments).Run(results);
}

void Op::Run(std::span<const Argument> arguments, Allocate allocate, void* context) const {
  ops::RepeatedCall& repeated = ops::ResolveRepeated(*form_, arguments);
  repeated.RunInto([&](size_t number, Tensor& result) {
    result = allocate(context, number, repeated.call().outputs[number].spec);
    return true;
  });
}

std::vector<Buffer> Op::Run(std::span<const Argument> arguments) const {
  std::vector<Buffer> buffers;
  Run(
      arguments,
      [](void* context, size_t, const TensorSpec& spec) {
        return static_cast<std::vector<Buffer>*>(context)->emplace_back(spec).tensor();
      },
      &buffers);
  return buffers;
}

void SetParallelFor(ParallelForHook run) { cpu::SetParallelFor(run); }

}  // namespace tenon
