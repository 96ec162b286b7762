#include "ops/resolve.h"

#include <algorithm>
#include <cmath>

#include "base/dtype.h"
#include "base/error.h"
#include "base/text.h"
#include "ops/alias.h"
#include "ops/argument_text.h"
#include "ops/list_sizes.h"
#include "ops/reduced_axes.h"
#include "ops/solve.h"

namespace tenon::ops {
namespace {

class Resolver {
 public:
  Resolver(const OperatorForm& form, std::span<const Argument> arguments)
      : contract_(form.op->contract()), name_(form.name()), arguments_(arguments) {
    call_.op = form.op;
    call_.in_place = form.in_place;
  }

  Resolved Run() {
    const size_t count = contract_.params().size();
    TENON_CHECK(arguments_.size() <= count, "{}: takes at most {} arguments, got {}", name_, count,
                arguments_.size());
    for (size_t i = 0; i < count; ++i) BindParam(contract_.params()[i], ArgumentAt(i));
    CheckDevices();
    BindStorage();
    for (const BoundInput& input : call_.inputs) CheckDType(input);
    AddRankSizes(call_, name_);
    MoveAxis();
    SolveShapes(call_, name_);
    CompleteAttributes();
    CheckRequirements(call_, name_);
    if (contract_.has_body()) call_.variant = &call_.op->FindVariant(choices_);
    BindOutputs();
    CheckWrittenInputs(call_);
    return std::move(call_);
  }

 private:
  const Argument& ArgumentAt(size_t i) const {
    static const Argument none;
    return i < arguments_.size() ? arguments_[i] : none;
  }

  [[noreturn]] void WrongKind(const Param& param, const Argument& argument) const {
    throw UsageError(
        fmt::format("{}: {} must be {}{}, got {}", name_, param.name, ExpectedKind(param),
                    param.optional || param.nullable ? " or None" : "", ArgumentText(argument)));
  }

  void BindParam(const Param& param, const Argument& argument) {
    if (param.is_tensor) {
      BindTensor(param, argument);
    } else {
      BindAttribute(param, argument);
    }
    const bool present = !std::holds_alternative<std::monostate>(argument);
    if (param.static_presence) choices_[PresenceKey(param.name)] = present;
    if (present) return;
    for (const auto& [size, value] : param.absent_sizes) call_.sizes[size] = value;
  }

  void BindTensor(const Param& param, const Argument& argument) {
    BoundInput& input = call_.inputs.emplace_back();
    input.param = &param;
    if (param.optional && std::holds_alternative<std::monostate>(argument)) return;
    const Tensor* tensor = std::get_if<Tensor>(&argument);
    if (tensor == nullptr) WrongKind(param, argument);
    CheckMemory(name_, param.name, *tensor);
    input.present = true;
    input.tensor = *tensor;
    input.view = *tensor;
  }

  void BindAttribute(const Param& param, const Argument& argument) {
    std::optional<ir::AttrValue> value = Convert(param, argument);
    if (!value) {
      TENON_CHECK(param.nullable, "{}: {} must be given", name_, param.name);
      return;
    }
    CheckNumber(param, *value);
    if (param.kind == AttrKind::kInt) call_.sizes[param.name] = std::get<int64_t>(*value);
    if (param.kind == AttrKind::kIntList) BindList(param, std::get<std::vector<int64_t>>(*value));
    if (!param.sized.empty()) call_.sizes[param.sized] = param.SizeOf(*value);
    if (param.is_static) choices_[param.name] = *value;
    call_.attributes[param.name] = *std::move(value);
  }

  void BindList(const Param& param, const std::vector<int64_t>& list) {
    for (int64_t number : list) CheckNumber(param, number);
    if (param.length == Param::kAnyLength) return AddListSizes(call_.sizes, param, list);
    TENON_CHECK(static_cast<int64_t>(list.size()) == param.length,
                "{}: {} must have {} numbers, got {}", name_, param.name, param.length,
                ShapeText(list));
    AddListSizes(call_.sizes, param, list);
    for (size_t i = 0; i < list.size(); ++i) {
      call_.attributes[fmt::format("{}_{}", param.name, i)] = list[i];
    }
  }

  // nullopt: None, and there is no default.
  std::optional<ir::AttrValue> Convert(const Param& param, const Argument& argument) const {
    if (std::holds_alternative<std::monostate>(argument)) return param.fallback;
    switch (param.kind) {
      case AttrKind::kBool:
        if (const bool* v = std::get_if<bool>(&argument)) return *v;
        break;
      case AttrKind::kInt:
        if (const int64_t* v = std::get_if<int64_t>(&argument)) return *v;
        break;
      case AttrKind::kFloat:
        if (const double* v = std::get_if<double>(&argument)) return *v;
        if (const int64_t* v = std::get_if<int64_t>(&argument)) return static_cast<double>(*v);
        break;
      case AttrKind::kString:
        if (const auto* v = std::get_if<std::string>(&argument)) return Choose(param, *v, *v);
        break;
      case AttrKind::kIntList:
        if (const auto* v = std::get_if<std::vector<int64_t>>(&argument)) return *v;
        break;
      case AttrKind::kDType:
        if (const DType* v = std::get_if<DType>(&argument)) {
          return Choose(param, DTypeName(*v), DTypeName(*v));
        }
        if (const auto* v = std::get_if<std::string>(&argument)) {
          const std::optional<DType> dtype = ParseDType(*v);
          return Choose(param, dtype ? DTypeName(*dtype) : std::string_view(*v), *v);
        }
        break;
    }
    WrongKind(param, argument);
  }

  std::string Choose(const Param& param, std::string_view word, std::string_view given) const {
    if (param.choices.empty()) return std::string(word);
    const std::string* choice = ResolveChoice(param, word);
    TENON_CHECK(choice != nullptr, "{}: {} must be {}, got {}", name_, param.name,
                OrText(ChoiceWords(param)), given);
    return *choice;
  }

  void CheckNumber(const Param& param, const ir::AttrValue& value) const {
    // A sum of three, times another, stays within int64.
    constexpr int64_t kLargestInt = int64_t{1} << 30;
    const int64_t* integer = std::get_if<int64_t>(&value);
    if (integer != nullptr && !param.range) {
      TENON_CHECK(*integer >= -kLargestInt && *integer <= kLargestInt,
                  "{}: {} must be at most {}, got {}", name_, param.name, kLargestInt, *integer);
    }
    if (std::holds_alternative<std::vector<int64_t>>(value)) return;
    if (param.range) {
      const auto [low, high] = *param.range;
      TENON_CHECK(*integer >= low && *integer <= high, "{}: {} must be in [{}, {}], got {}", name_,
                  param.name, low, high, *integer);
    }
    if (!param.positive && !param.non_negative) return;
    const double number = std::holds_alternative<int64_t>(value)
                              ? static_cast<double>(std::get<int64_t>(value))
                              : std::get<double>(value);
    if (param.positive) {
      TENON_CHECK(number > 0, "{}: {} must be positive, got {}", name_, param.name, number);
    } else {
      TENON_CHECK(number >= 0, "{}: {} must be at least 0, got {}", name_, param.name, number);
    }
  }

  const BoundInput* FirstPresent() const {
    for (const BoundInput& input : call_.inputs) {
      if (input.present) return &input;
    }
    return nullptr;
  }

  void CheckDevices() {
    const BoundInput* first = FirstPresent();
    if (first == nullptr) return;
    call_.device = first->tensor.device;
    call_.device_index = first->tensor.device_index;
    for (const BoundInput& input : call_.inputs) {
      TENON_CHECK(!input.present || (input.tensor.device == call_.device &&
                                     input.tensor.device_index == call_.device_index),
                  "{}: {} must be on {} like {}, got {}", name_, input.param->name,
                  DeviceText(call_.device, call_.device_index), first->param->name,
                  DeviceText(input.tensor.device, input.tensor.device_index));
    }
  }

  // T is the dtype of the first tensor that has it, unless an attribute casts that tensor.
  void BindStorage() {
    for (const BoundInput& input : call_.inputs) {
      if (!input.present || !(input.param->elem == ir::Elem::Storage())) continue;
      const DType dtype = input.tensor.dtype;
      storage_from_ = input.param;
      if (input.param->any_dtype && !IsFloat(dtype)) break;  // T is f32
      const bool is_float8 = input.param->or_float8 && dtype == DType::kF8E4M3;
      TENON_CHECK(
          is_float8 || dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16,
          "{}: {} must be f32, f16 {}bf16{}, got {}", name_, input.param->name,
          input.param->or_float8 ? "" : "or ", input.param->or_float8 ? " or f8e4m3" : "",
          DTypeName(dtype));
      call_.storage = dtype;
      break;
    }
    for (const Param& param : contract_.params()) {
      if (param.casts.empty()) continue;
      const auto it = call_.attributes.find(param.name);
      if (it == call_.attributes.end()) {
        call_.attributes[param.name] = std::string(DTypeName(call_.storage));
      } else {
        call_.storage = *ParseDType(std::get<std::string>(it->second));
      }
    }
  }

  void CheckDType(const BoundInput& input) const {
    if (!input.present || input.param == storage_from_ || input.param->any_dtype) return;
    const DType dtype = input.tensor.dtype;
    const auto refuse = [&](std::string_view expected) {
      throw UsageError(fmt::format("{}: {} must be {}, got {}", name_, input.param->name, expected,
                                   DTypeName(dtype)));
    };
    const std::string like = storage_from_ != nullptr ? " like " + storage_from_->name : "";
    switch (input.param->elem.kind) {
      case ir::Elem::Kind::kStorage:
        if (dtype != call_.storage) refuse(fmt::format("{}{}", DTypeName(call_.storage), like));
        break;
      case ir::Elem::Kind::kParam:
        if (dtype == call_.storage || dtype == DType::kF32) break;
        if (input.param->integers && (dtype == DType::kI8 || dtype == DType::kI32)) break;
        if (input.param->integers) {
          refuse(fmt::format("{}{}, f32, i32 or i8", DTypeName(call_.storage), like));
        }
        refuse(call_.storage == DType::kF32
                   ? "f32" + like
                   : fmt::format("{}{}, or f32", DTypeName(call_.storage), like));
        break;
      case ir::Elem::Kind::kIndex:
        if (dtype != DType::kI32 && dtype != DType::kI64) refuse("i32 or i64");
        break;
      case ir::Elem::Kind::kConcrete:
        if (dtype != input.param->elem.dtype) refuse(DTypeName(input.param->elem.dtype));
        break;
    }
  }

  void MoveAxis() {
    for (BoundInput& input : call_.inputs) {
      if (!input.param->first_last || input.tensor.rank == 0) continue;
      call_.moved_axis = 0;
      input.view = AxisMovedLast(input.tensor, 0);
    }
    for (const Param& param : contract_.params()) {
      if (param.moves_last.empty()) continue;
      const int64_t dim = std::get<int64_t>(call_.attributes.at(param.name));
      for (BoundInput& input : call_.inputs) {
        if (input.param->name != param.moves_last) continue;
        const int rank = input.tensor.rank;
        TENON_CHECK(rank > 0, "{}: {} must have at least one axis, got []", name_,
                    input.param->name);
        TENON_CHECK(dim >= -rank && dim < rank, "{}: {} must be in [{}, {}] for {} of {}, got {}",
                    name_, param.name, -rank, rank - 1, input.param->name,
                    rank == 1 ? "1 axis" : fmt::format("{} axes", rank), dim);
        call_.moved_axis = static_cast<int>(dim < 0 ? dim + rank : dim);
        input.view = AxisMovedLast(input.tensor, call_.moved_axis);
      }
    }
  }

  void CompleteAttributes() {
    for (const Param& param : contract_.params()) {
      if (param.is_tensor || param.kind != AttrKind::kInt) continue;
      if (call_.attributes.contains(param.name)) continue;
      const int64_t value = param.absent_size.empty()
                                ? call_.sizes.at(param.name)
                                : ir::Dim(param.absent_size).Eval(call_.sizes);
      call_.sizes[param.name] = value;
      call_.attributes[param.name] = value;
    }
  }

  void BindOutputs() {
    for (const OutParam& out : contract_.outs()) {
      if (out.each.empty()) {
        BindOutput(out, call_.sizes);
        continue;
      }
      for (int64_t number : std::get<std::vector<int64_t>>(call_.attributes.at(out.each))) {
        ir::Bindings sizes = call_.sizes;
        sizes[out.each + "_each"] = number;
        BindOutput(out, sizes);
        call_.outputs.back().each = number;
      }
    }
  }

  void BindOutput(const OutParam& out, const ir::Bindings& sizes) {
    BoundOutput& output = call_.outputs.emplace_back();
    output.param = &out;
    output.spec.dtype =
        !out.dtype_from.empty()
            ? *ParseDType(std::get<std::string>(call_.attributes.at(out.dtype_from)))
        : out.elem.concrete() ? out.elem.dtype
                              : call_.storage;
    const BoundInput* like = out.like.empty() ? nullptr : call_.FindInput(out.like);
    if (like != nullptr) {
      output.none = !like->present;
      const auto shape = like->tensor.shape();
      output.spec.shape = {shape.begin(), shape.end()};
      if (output.none) output.spec.shape = {0};
      if (!out.reduces.empty()) {
        const auto& list = std::get<std::vector<int64_t>>(call_.attributes.at(out.reduces));
        output.spec.shape =
            ReducedShape(shape, NamedAxes(name_, out.reduces, list, like->tensor.rank),
                         FlagOf(call_, out.keeps));
      }
    } else {
      if (out.shape.lead) output.spec.shape = call_.lead;
      for (const ir::Axis& axis : out.shape.axes) {
        output.spec.shape.push_back(axis.size.Eval(sizes));
      }
      if (call_.moved_axis >= 0) {
        auto& shape = output.spec.shape;
        std::rotate(shape.begin() + call_.moved_axis, shape.end() - 1, shape.end());
      }
    }
    if (!out.only_with.empty()) {
      output.none = !std::get<bool>(call_.attributes.at(out.only_with));
    }
    SetStrides(output);
    if (call_.in_place == nullptr) return;
    const std::string* over = call_.in_place->InputUnder(out.name);
    for (size_t i = 0; over != nullptr && i < call_.inputs.size(); ++i) {
      if (call_.inputs[i].param->name == *over) output.over = static_cast<int>(i);
    }
  }

  void SetStrides(BoundOutput& output) const {
    const OutParam& out = *output.param;
    if (out.column_major_when.empty()) return;
    if (!std::get<bool>(call_.attributes.at(out.column_major_when))) return;
    const int64_t rows = call_.sizes.at("tokens");
    const int64_t multiple = out.column_multiple;
    int64_t stride = 1;
    std::vector<int64_t>& strides = output.spec.strides;
    strides.assign(output.spec.shape.size(), (rows + multiple - 1) / multiple * multiple);
    for (size_t axis = call_.lead.size(); axis-- > 0;) {
      strides[axis] = stride;
      stride *= call_.lead[axis];
    }
  }

  const Contract& contract_;
  const std::string name_;
  std::span<const Argument> arguments_;
  Resolved call_;
  Choices choices_;
  const Param* storage_from_ = nullptr;
};

}  // namespace

void CheckWrittenInputs(const Resolved& call) {
  for (const BoundOutput& output : call.outputs) {
    if (output.over < 0) continue;
    const BoundInput& written = call.inputs[static_cast<size_t>(output.over)];
    if (!written.present) continue;
    TENON_CHECK(!OverlapsItself(written.tensor),
                "{}: {} is written, but its elements overlap (strides {})", call.name(),
                written.param->name, StridesText(written.tensor));
    for (const BoundInput& other : call.inputs) {
      TENON_CHECK(
          &other == &written || !other.present || !ShareMemory(written.tensor, other.tensor),
          "{}: {} is written, but shares memory with {}", call.name(), written.param->name,
          other.param->name);
    }
  }
}

std::string DeviceText(Device device, int32_t index) {
  return device == Device::kCpu ? "cpu" : fmt::format("cuda:{}", index);
}

Resolved Resolve(const OperatorForm& form, std::span<const Argument> arguments) {
  return Resolver(form, arguments).Run();
}

}  // namespace tenon::ops
