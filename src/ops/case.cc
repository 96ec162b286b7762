#include "ops/case.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <set>

#include "base/dtype.h"
#include "base/error.h"
#include "ops/list_sizes.h"
#include "ops/strided.h"

namespace tenon::ops {
namespace {

constexpr int64_t kCacheLine = 64;

// Bits of a position, well mixed (the finaliser of splitmix64 over a running hash).
class Position {
 public:
  explicit Position(uint64_t seed) : bits_(seed) {}
  Position At(uint64_t coordinate) const {
    uint64_t z = bits_ + 0x9E3779B97F4A7C15 * (coordinate + 1);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return Position(z ^ z >> 31);
  }
  uint64_t bits() const { return bits_; }
  double Uniform() const { return static_cast<double>(bits_ >> 11) * 0x1p-53; }  // [0, 1)
  double Normal() const {
    const double radius = std::sqrt(-2 * std::log(1 - At(0).Uniform()));
    return radius * std::cos(2 * std::numbers::pi * At(1).Uniform());
  }

 private:
  uint64_t bits_;
};

// Strides in elements, and the number of elements that they span.
struct Strides {
  std::array<int64_t, kMaxRank> strides{};
  int64_t span = 0;
};

Strides LayOut(const std::vector<int64_t>& shape, int lead_rank, Layout layout) {
  constexpr int64_t kGap = 5;  // odd, so that rows start at every offset within a vector
  Strides result;
  int64_t stride = layout == Layout::kLastStride ? 2 : 1;
  for (int axis = static_cast<int>(shape.size()) - 1; axis >= 0; --axis) {
    if (layout == Layout::kRowGaps && axis < lead_rank) stride += kGap;
    const bool expanded = layout == Layout::kExpanded && axis == 0 && lead_rank > 0;
    result.strides[axis] = expanded ? 0 : stride;
    if (!expanded) stride *= std::max<int64_t>(shape[axis], 1);
  }
  result.span = stride;
  return result;
}

}  // namespace

GuardedTensor::GuardedTensor(DType dtype, const std::vector<int64_t>& shape, int lead_rank,
                             Layout layout) {
  const Strides strides = LayOut(shape, lead_rank, layout);
  const int64_t item = ItemSize(dtype);
  memory_.resize(static_cast<size_t>(strides.span * item + 4 * kCacheLine), kGuard);
  auto start = reinterpret_cast<intptr_t>(memory_.data());
  start = (start + 2 * kCacheLine - 1) / kCacheLine * kCacheLine;
  if (layout == Layout::kMisaligned) start += item;
  tensor_ = MakeTensor(reinterpret_cast<void*>(start), dtype, shape);
  tensor_.strides = strides.strides;
}

void GuardedTensor::Clear() { std::fill(memory_.begin(), memory_.end(), kGuard); }

bool GuardedTensor::GuardsIntact() const {
  std::vector<bool> element(memory_.size());
  const int64_t item = ItemSize(tensor_.dtype);
  const int64_t start = tensor_.ptr<uint8_t>() - memory_.data();
  ForEachElement(tensor_, [&](int64_t offset) {
    for (int64_t b = 0; b < item; ++b)
      element[static_cast<size_t>(start + offset * item + b)] = true;
  });
  for (size_t i = 0; i < memory_.size(); ++i) {
    if (!element[i] && memory_[i] != kGuard) return false;
  }
  return true;
}

namespace {

// UsageError unless every size of the tensors that the case has is among `sizes`.
void CheckSizes(const Contract& contract, const CaseSpec& spec, const ir::Bindings& sizes) {
  std::set<std::string> missing;
  for (const Param& param : contract.params()) {
    if (!param.is_tensor || (param.optional && !spec.given.contains(param.name))) continue;
    const auto chosen = spec.alternatives.find(param.name);
    const size_t shape =
        chosen == spec.alternatives.end() ? 0 : static_cast<size_t>(chosen->second);
    for (const ir::Axis& axis : param.shapes[shape].axes) {
      for (const std::string& name : axis.size.symbols()) {
        if (!sizes.contains(name)) missing.insert(name);
      }
    }
  }
  TENON_CHECK(missing.empty(),
              "{}: {} {} no value: sizes follow the operator's name as name=value, for example "
              "`{} {}=128{}`",
              spec.op, fmt::join(missing, ", "), missing.size() == 1 ? "has" : "have", spec.op,
              *missing.begin(), missing.size() == 1 ? "" : " ...");
}

}  // namespace

Case::Case(CaseSpec spec) : spec_(std::move(spec)), form_(FindOperator(spec_.op)) {
  const Contract& contract = form_.op->contract();
  sizes_ = spec_.sizes;
  for (const Param& param : contract.params()) {
    if (param.is_tensor || param.kind != AttrKind::kInt) continue;
    const auto given = spec_.attributes.find(param.name);
    if (given != spec_.attributes.end()) {
      sizes_[param.name] = std::get<int64_t>(given->second);
    } else if (param.fallback) {
      sizes_.emplace(param.name, std::get<int64_t>(*param.fallback));
    }
  }
  AddChoiceSizes(contract);
  CheckSizes(contract, spec_, sizes_);
  for (const Param& param : contract.params()) {
    const auto given = spec_.attributes.find(param.name);
    if (given != spec_.attributes.end()) {
      arguments_.emplace_back(given->second);
    } else if (param.is_tensor && (!param.optional || spec_.given.contains(param.name))) {
      AddTensor(param);
    } else if (!param.is_tensor && param.kind == AttrKind::kInt && !param.fallback &&
               spec_.sizes.contains(param.name)) {
      arguments_.emplace_back(spec_.sizes.at(param.name));
    } else {
      arguments_.emplace_back();
    }
  }
  FillTensors();
  call_ = Resolve(form_, arguments_);
  if (form_.in_place != nullptr) return;
  // Results are written, so they cannot be expanded.
  const Layout layout = spec_.layout == Layout::kExpanded ? Layout::kDense : spec_.layout;
  for (const BoundOutput& output : call_.outputs) {
    const bool lead = output.param->shape.lead && !output.none;
    results_.emplace_back(output.spec.dtype, output.spec.shape,
                          lead ? static_cast<int>(call_.lead.size()) : 0, layout);
  }
}

// Sizes that a choice stands for, and those in lists.
void Case::AddChoiceSizes(const Contract& contract) {
  for (const Param& param : contract.params()) {
    const auto given = spec_.attributes.find(param.name);
    const bool is_given = given != spec_.attributes.end();
    if (!param.sized.empty()) {
      if (!is_given && !param.fallback) continue;
      ir::AttrValue value = param.fallback.value_or(ir::AttrValue());
      if (is_given && param.kind == AttrKind::kBool) value = std::get<bool>(given->second);
      if (is_given && param.kind == AttrKind::kString) value = std::get<std::string>(given->second);
      sizes_[param.sized] = param.SizeOf(value);
    }
    if (param.kind != AttrKind::kIntList || !is_given) continue;
    AddListSizes(sizes_, param, std::get<std::vector<int64_t>>(given->second));
  }
}

void Case::AddTensor(const Param& param) {
  const auto alternative = spec_.alternatives.find(param.name);
  const Shape& shape =
      param.shapes[alternative == spec_.alternatives.end() ? 0 : alternative->second];
  std::vector<int64_t> sizes;
  if (shape.lead) sizes = spec_.lead;
  const int lead_rank = static_cast<int>(sizes.size());
  for (const ir::Axis& axis : shape.axes) sizes.push_back(axis.size.Eval(sizes_));
  for (const Param& mover : form_.op->contract().params()) {
    const auto given = spec_.attributes.find(mover.name);
    if (mover.moves_last != param.name || given == spec_.attributes.end()) continue;
    const int64_t dim = std::get<int64_t>(given->second);
    const auto rank = static_cast<int64_t>(sizes.size());
    std::rotate(sizes.begin() + (dim < 0 ? dim + rank : dim), sizes.end() - 1, sizes.end());
  }
  if (param.first_last) std::rotate(sizes.begin(), sizes.end() - 1, sizes.end());
  const DType dtype = param.elem == ir::Elem::Storage() ? spec_.storage
                      : param.elem == ir::Elem::Param() ? spec_.param
                      : param.elem == ir::Elem::Index() ? spec_.index
                                                        : param.elem.dtype;
  const bool has_rows = shape.lead || shape.axes.size() > 1;
  params_.push_back(&param);
  inputs_.emplace_back(dtype, sizes, lead_rank, has_rows ? spec_.layout : Layout::kDense);
  Tensor argument = inputs_.back().tensor();
  if (param.sections) {  // [3, ...], filled as [..., 3]
    const auto first = [&](auto& list) {
      std::rotate(list.begin(), list.begin() + argument.rank - 1, list.begin() + argument.rank);
    };
    first(argument.sizes);
    first(argument.strides);
  }
  arguments_.emplace_back(argument);
}

std::vector<Tensor> Case::results() const {
  std::vector<Tensor> tensors;
  for (const GuardedTensor& result : results_) tensors.push_back(result.tensor());
  return tensors;
}

std::vector<Tensor> Case::written() const {
  if (form_.in_place == nullptr) return results();
  std::vector<Tensor> tensors;
  for (const BoundOutput& output : call_.outputs) {
    if (output.none) continue;
    tensors.push_back(call_.inputs[static_cast<size_t>(output.over)].tensor);
  }
  return tensors;
}

void Case::FillTensors() {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    inputs_[i].Clear();
    FillArgument(i);
  }
  for (GuardedTensor& result : results_) result.Clear();
}

bool Case::GuardsIntact() const {
  const auto intact = [](const GuardedTensor& tensor) { return tensor.GuardsIntact(); };
  return std::all_of(inputs_.begin(), inputs_.end(), intact) &&
         std::all_of(results_.begin(), results_.end(), intact);
}

int64_t Case::IndexLimit(const Param& param) const {
  constexpr int64_t kAnyNumber = 8;
  if (form_.op->variants().empty()) return kAnyNumber;  // what a function does with it is unknown
  const ir::Graph& graph = form_.op->variants()[0].graph;
  for (const ir::Node& node : graph.nodes()) {
    if (node.op == ir::Op::kGatherRow && graph.node(node.args[1]).name == param.name) {
      return graph.node(node.args[0]).type.axes[0].size.Eval(sizes_);
    }
  }
  throw InternalError(__FILE__, __LINE__, param.name + " indexes nothing");
}

// Large enough to overflow where that is allowed: the square of a product of two must not, when
// rows are summed.
double Case::HugeValue() const {
  if (spec_.storage == DType::kF16) return 3e4;
  for (const ir::Node& node : form_.op->variants()[0].graph.nodes()) {
    if (node.op == ir::Op::kReduce) return 1e8;
  }
  return 1.5e38;
}

namespace {

// Element `column` of a row, by the kind that its row has in an adversarial fill.
double AdversarialValue(const Position& row, int64_t column, int64_t width, double huge,
                        bool infinities) {
  const Position element = row.At(static_cast<uint64_t>(column));
  const auto special = static_cast<int64_t>(row.At(1u << 31).bits() % static_cast<uint64_t>(width));
  switch (row.bits() % 9) {
    case 0:
      return 0.0;
    case 1:
      return column == special ? std::numeric_limits<double>::quiet_NaN() : element.Normal();
    case 2:
      if (!infinities || column != special) return element.Normal();
      return element.bits() & 1 ? HUGE_VAL : -HUGE_VAL;
    case 3:
      return (element.bits() & 1 ? huge : -huge) * (1 + element.Uniform());
    case 4:
      return element.Normal() * 1e-40;  // subnormal in float32, 0 in float16
    case 5:
      return std::nearbyint(4 * row.At(2).Normal()) / 4;  // few bits, so that means are exact
    case 6:
      return -std::abs(element.Normal()) * 8;
    default:
      return element.Normal();
  }
}

}  // namespace

void Case::FillArgument(size_t number) {
  const Param& param = *params_[number];
  const Tensor& tensor = inputs_[number].tensor();
  const bool has_rows = param.shapes[0].lead;
  int64_t width = 1;
  for (int axis = has_rows ? static_cast<int>(spec_.lead.size()) : 0; axis < tensor.rank; ++axis) {
    width *= tensor.sizes[axis];
  }
  const Position base = Position(spec_.seed).At(number);
  const bool adversarial =
      spec_.fill == Fill::kAdversarial && has_rows && param.elem == ir::Elem::Storage();
  const bool infinities = form_.op->contract().family() != "quant";  // unspecified there
  const bool is_index = param.elem == ir::Elem::Index();
  const int64_t limit = is_index ? IndexLimit(param) : 0;
  const double huge = adversarial ? HugeValue() : 0;
  int64_t next = 0;
  ForEachElement(tensor, [&](int64_t offset) {
    int64_t row = next / width;
    const int64_t column = next++ % width;
    if (has_rows && spec_.layout == Layout::kExpanded && !spec_.lead.empty()) {
      int64_t per_index = 1;
      for (size_t axis = 1; axis < spec_.lead.size(); ++axis) per_index *= spec_.lead[axis];
      row %= per_index;  // one memory for every index of the first axis
    }
    const Position at = base.At(static_cast<uint64_t>(row));
    const Position element = at.At(static_cast<uint64_t>(column));
    double value = 0;
    if (is_index) {
      value = static_cast<double>(element.bits() % static_cast<uint64_t>(limit));
    } else if (adversarial) {
      value = AdversarialValue(at, column, width, huge, infinities);
    } else if (param.elem == ir::Elem::Param() && (has_rows || tensor.rank > 1)) {
      value = 2 * element.Uniform() - 1;  // a table of sines
    } else if (param.elem == ir::Elem(DType::kF32)) {
      value = 0.01 + 0.1 * element.Uniform();  // a scale
    } else if (param.elem == ir::Elem(DType::kI32) || param.integers) {
      value = static_cast<double>(element.bits() % 41) - 20;  // a zero point
    } else {
      value = element.Normal();
    }
    StoreElement(tensor.data, tensor.dtype, offset, value);
  });
}

int64_t Case::BytesMoved() const {
  int64_t bytes = 0;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor& tensor = inputs_[i].tensor();
    int64_t count = tensor.numel();
    const ir::Graph& graph = call_.variant->graph;
    for (const ir::Node& node : graph.nodes()) {
      if (node.op == ir::Op::kGatherRow && graph.node(node.args[0]).name == params_[i]->name) {
        count = tensor.numel() / tensor.sizes[0] * call_.sizes.at("tokens");
      }
    }
    bytes += count * ItemSize(tensor.dtype);
  }
  for (const Tensor& tensor : written()) bytes += tensor.numel() * ItemSize(tensor.dtype);
  return bytes;
}

}  // namespace tenon::ops
