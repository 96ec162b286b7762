// The caller's result tensors: checked, and as the body writes them.
#include "base/dtype.h"
#include "base/error.h"
#include "base/text.h"
#include "ops/alias.h"
#include "ops/resolve.h"
#include "ops/solve.h"

namespace tenon::ops {
namespace {

// What does not depend on where the result lies.
void CheckLayout(const Resolved& call, const BoundOutput& output, const Tensor& result) {
  const std::string& name = output.param->name;
  TENON_CHECK(result.dtype == output.spec.dtype, "{}: {} must be {}, got {}", call.name(), name,
              DTypeName(output.spec.dtype), DTypeName(result.dtype));
  TENON_CHECK(std::equal(result.shape().begin(), result.shape().end(), output.spec.shape.begin(),
                         output.spec.shape.end()),
              "{}: {} must be {}, got {}", call.name(), name, ShapeText(output.spec.shape),
              ShapeText(result.shape()));
  TENON_CHECK(result.device == call.device && result.device_index == call.device_index,
              "{}: {} must be on {} like the arguments, got {}", call.name(), name,
              DeviceText(call.device, call.device_index),
              DeviceText(result.device, result.device_index));
  TENON_CHECK(!OverlapsItself(result), "{}: {} is written, but its elements overlap (strides {})",
              call.name(), name, StridesText(result));
}

Tensor ResultView(const Resolved& call, const BoundOutput& output, const Tensor& result) {
  const OutParam& param = *output.param;
  if (!param.reduces.empty()) return result;
  const Shape* shape = &param.shape;
  if (!param.like.empty()) {
    const BoundInput& like = *call.FindInput(param.like);
    shape = &like.param->shapes[static_cast<size_t>(like.shape)];
  }
  const Tensor moved = call.moved_axis < 0 ? result : AxisMovedLast(result, call.moved_axis);
  const int lead_rank = shape->lead ? static_cast<int>(call.lead.size()) : 0;
  if (param.each.empty()) return BodyView(moved, lead_rank, *shape, param.axes, call.sizes);
  ir::Bindings sizes = call.sizes;
  sizes[param.each + "_each"] = output.each;
  return BodyView(moved, lead_rank, *shape, param.axes, sizes);
}

}  // namespace

void CheckResultMemory(const Resolved& call, std::span<const Tensor> results) {
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string& name = call.outputs[i].param->name;
    CheckMemory(call.name(), name, results[i]);
    for (const BoundInput& input : call.inputs) {
      TENON_CHECK(!input.present || !ShareMemory(results[i], input.tensor),
                  "{}: {} is written, but shares memory with {}", call.name(), name,
                  input.param->name);
    }
    for (size_t k = 0; k < i; ++k) {
      TENON_CHECK(!ShareMemory(results[i], results[k]),
                  "{}: {} is written, but shares memory with {}", call.name(), name,
                  call.outputs[k].param->name);
    }
  }
}

std::vector<Tensor> OutputViews(const Resolved& call, std::span<const Tensor> results) {
  const size_t expected = call.in_place != nullptr ? 0 : call.outputs.size();
  TENON_CHECK(results.size() == expected, "{}: gives {} results, got {} tensors for them",
              call.name(), expected, results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    CheckMemory(call.name(), call.outputs[i].param->name, results[i]);
    CheckLayout(call, call.outputs[i], results[i]);
  }
  CheckResultMemory(call, results);
  std::vector<Tensor> views;
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    const BoundOutput& output = call.outputs[i];
    if (output.none) {
      views.emplace_back();
    } else if (output.over >= 0) {
      views.push_back(call.inputs[static_cast<size_t>(output.over)].view);
    } else {
      views.push_back(ResultView(call, output, results[i]));
    }
  }
  return views;
}

}  // namespace tenon::ops
