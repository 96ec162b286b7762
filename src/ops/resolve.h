// A call checked against its contract once: sizes solved, attributes completed, every argument as
// the body sees it. All that refuses a call does so here, with a sentence that names operator,
// argument, what was expected and what came.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ops/registry.h"
#include "tenon/op.h"

namespace tenon::ops {

struct BoundInput {
  const Param* param = nullptr;
  bool present = false;
  Tensor tensor;  // as given
  // [leading axes..., body axes...]. An axis named by an attribute (`moves_last`) has become the
  // last one; one element that stands for a whole axis is expanded with stride 0.
  Tensor view;
  int shape = 0;  // number of the alternative
};

struct BoundOutput {
  const OutParam* param = nullptr;
  TensorSpec spec;    // as the caller sees it
  int over = -1;      // in-place: number of the input whose memory it takes
  int64_t each = 0;   // of several results by one declaration: its number in the list
  bool none = false;  // stands for an optional input that is not there: [0], and not computed
};

class RowBinding;  // ops/generated_row.h

struct Resolved {
  const Operator* op = nullptr;
  const InPlaceForm* in_place = nullptr;
  const Variant* variant = nullptr;
  ir::Bindings sizes;           // of the contract's shapes; integer attributes included
  std::vector<int64_t> lead;    // the axes that "..." stands for
  DType storage = DType::kF32;  // T
  Device device = Device::kCpu;
  int32_t device_index = 0;
  std::map<std::string, ir::AttrValue> attributes;  // all, defaults filled in; a dtype by its name
  int moved_axis = -1;             // axis of the caller's tensors that the body sees last
  std::vector<BoundInput> inputs;  // tensor parameters in schema order
  std::vector<BoundOutput> outputs;
  // What the generated kernel looked up in this call when it first ran.
  mutable std::shared_ptr<RowBinding> row_binding;

  const std::string& name() const { return in_place != nullptr ? in_place->name : op->name(); }
  const BoundInput* FindInput(std::string_view input) const {
    for (const BoundInput& bound : inputs) {
      if (bound.param->name == input) return &bound;
    }
    return nullptr;
  }
};

// An attribute of the call by its name, as its kind.
inline int64_t IntOf(const Resolved& call, const std::string& attribute) {
  return std::get<int64_t>(call.attributes.at(attribute));
}
inline bool FlagOf(const Resolved& call, const std::string& attribute) {
  return std::get<bool>(call.attributes.at(attribute));
}
inline double NumberOf(const Resolved& call, const std::string& attribute) {
  return std::get<double>(call.attributes.at(attribute));
}
inline const std::string& WordOf(const Resolved& call, const std::string& attribute) {
  return std::get<std::string>(call.attributes.at(attribute));
}

Resolved Resolve(const OperatorForm& form, std::span<const Argument> arguments);

// The part of Resolve that depends on where the tensors lie: what an in-place form writes shares no
// element with itself or another argument.
void CheckWrittenInputs(const Resolved& call);

// The memory of every output as the body gives it, axes as in BoundInput::view; data is null for
// `none` ones. `results` are the caller's tensors (none for an in-place form), which are checked:
// shape, dtype, device, and that no element is shared with another argument.
std::vector<Tensor> OutputViews(const Resolved& call, std::span<const Tensor> results);

// The part of OutputViews that depends on where the results lie.
void CheckResultMemory(const Resolved& call, std::span<const Tensor> results);

std::string DeviceText(Device device, int32_t index);  // "cpu", "cuda:0"

}  // namespace tenon::ops
