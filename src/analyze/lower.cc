#include "analyze/lower.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "ir/builder.h"
#include "ir/source_op.h"

namespace tenon::analyze {
namespace {

namespace key = ir::source_op;

// Attributes of the IR are flat: what is not a scalar or a list of integers becomes its text.
std::string AttrText(const Attr& attr) {
  if (const auto* v = std::get_if<bool>(&attr.value)) return *v ? "true" : "false";
  if (const auto* v = std::get_if<int64_t>(&attr.value)) return std::to_string(*v);
  if (const auto* v = std::get_if<double>(&attr.value)) return fmt::format("{}", *v);
  if (const auto* v = std::get_if<std::string>(&attr.value)) return *v;
  std::vector<std::string> parts;
  if (const auto* list = std::get_if<Attr::List>(&attr.value)) {
    for (const Attr& item : *list) parts.push_back(AttrText(item));
    return "[" + Join(parts, ", ") + "]";
  }
  if (const auto* map = std::get_if<Attr::Map>(&attr.value)) {
    for (const auto& [name, item] : *map) parts.push_back(name + ": " + AttrText(item));
    return "{" + Join(parts, ", ") + "}";
  }
  return "none";
}

std::optional<std::vector<int64_t>> IntList(const Attr& attr) {
  const auto* list = std::get_if<Attr::List>(&attr.value);
  if (list == nullptr) return std::nullopt;
  std::vector<int64_t> values;
  for (const Attr& item : *list) {
    const auto* v = std::get_if<int64_t>(&item.value);
    if (v == nullptr) return std::nullopt;
    values.push_back(*v);
  }
  return values;
}

ir::AttrValue ToAttrValue(const Attr& attr) {
  if (const auto* v = std::get_if<bool>(&attr.value)) return *v;
  if (const auto* v = std::get_if<int64_t>(&attr.value)) return *v;
  if (const auto* v = std::get_if<double>(&attr.value)) return *v;
  if (auto values = IntList(attr)) return *values;
  return AttrText(attr);
}

std::map<std::string, ir::AttrValue> Attributes(const Op& op) {
  std::map<std::string, ir::AttrValue> call;
  for (const auto& [name, value] : op.attrs) {
    if (!std::holds_alternative<std::monostate>(value.value)) call[name] = ToAttrValue(value);
  }
  call[std::string(key::kIndex)] = int64_t{op.i};
  if (op.aux) call[std::string(key::kAux)] = true;
  if (op.name) call[std::string(key::kModule)] = *op.name;
  if (op.group) call[std::string(key::kGroup)] = *op.group;
  if (op.inside_custom_op) call[std::string(key::kInside)] = *op.inside_custom_op;
  if (op.bytes_read) call[std::string(key::kBytesRead)] = op.bytes_read->text();
  if (op.bytes_written) call[std::string(key::kBytesWritten)] = op.bytes_written->text();
  if (op.flops) call[std::string(key::kFlops)] = op.flops->text();
  return call;
}

// The first tensor whose element type the IR does not have: its operator becomes opaque.
const TensorUse* Unsupported(const Op& op) {
  for (const auto* uses : {&op.in, &op.out}) {
    for (const TensorUse& use : *uses) {
      if (!ParseDType(use.dtype)) return &use;
    }
  }
  return nullptr;
}

// Names stay unique within a type; a missing one is made from the position. An element type that
// the IR does not have stands as bool, always beside an opaque node that names it.
ir::Type TypeOf(const TensorUse& use) {
  ir::Type type{ParseDType(use.dtype).value_or(DType::kBool), {}};
  std::set<std::string> taken;
  for (size_t i = 0; i < use.shape.size(); ++i) {
    std::string name =
        i < use.axes.size() && !use.axes[i].empty() ? use.axes[i] : "d" + std::to_string(i);
    // A rank's share is written "heads/tp"; axes of the IR are plain names.
    std::replace(name.begin(), name.end(), '/', '_');
    std::replace(name.begin(), name.end(), '*', '_');
    std::replace(name.begin(), name.end(), '.', '_');
    while (!taken.insert(name).second) name += "_";
    type.axes.push_back({name, use.shape[i]});
  }
  return type;
}

// "[..., 64:128]" -> (64, 128): part of the last axis.
std::optional<std::pair<ir::Dim, ir::Dim>> LastAxisSlice(std::string_view view) {
  constexpr std::string_view kStart = "[..., ";
  if (!view.starts_with(kStart) || !view.ends_with("]")) return std::nullopt;
  const std::string_view range = view.substr(kStart.size(), view.size() - kStart.size() - 1);
  const size_t colon = range.find(':');
  if (colon == std::string_view::npos || range.find_first_of(":,", colon + 1) != range.npos) {
    return std::nullopt;
  }
  const auto begin = Dim::Parse(range.substr(0, colon));
  const auto end = Dim::Parse(range.substr(colon + 1));
  if (!begin || !end) return std::nullopt;
  return std::pair(*begin, *end);
}

class Lowering {
 public:
  explicit Lowering(std::string name) : builder_(std::move(name)) {}

  void Argument(int id, std::string_view name, const TensorUse& use) {
    const ir::Type type = TypeOf(use);
    values_[id] = builder_.Input(name, type.elem, type.axes);
  }

  ir::Value Use(const TensorUse& use);
  void Add(const Op& op);
  ir::Builder& builder() { return builder_; }

  // Values that nothing consumes are what the layer gives on.
  ir::Graph Finish() {
    for (const int id : defined_) {
      if (!used_.contains(id)) builder_.Output("t" + std::to_string(id), values_.at(id));
    }
    return builder_.Take();
  }

 private:
  ir::Value Whole(const TensorUse& use, const ir::Type& type);

  ir::Builder builder_;
  std::map<int, ir::Value> values_;
  std::map<std::string, ir::Value> params_;
  std::vector<int> defined_;
  std::set<int> used_;
};

ir::Value Lowering::Whole(const TensorUse& use, const ir::Type& type) {
  if (use.param) {
    const auto known = params_.find(*use.param);
    if (known != params_.end()) return known->second;
    return params_[*use.param] = builder_.Input(*use.param, type.elem, type.axes);
  }
  used_.insert(use.id);
  const auto known = values_.find(use.id);
  if (known != values_.end()) return known->second;
  return values_[use.id] = builder_.Input("t" + std::to_string(use.id), type.elem, type.axes);
}

ir::Value Lowering::Use(const TensorUse& use) {
  const ir::Type type = TypeOf(use);
  ir::Value value = Whole(use, type);
  if (value.type() == type) return value;
  if (const auto range = LastAxisSlice(use.view); range && !value.type().axes.empty()) {
    const std::string axis = value.type().axes.back().name;
    value = Slice(value, axis, range->first, {axis, range->second - range->first});
    if (value.type().axes == type.axes) return value;
    if (value.type().numel() == type.numel()) return Reshape(value, type.axes);
  } else if (use.view.empty() && value.type().numel() == type.numel() &&
             value.type().elem == type.elem) {
    return Reshape(value, type.axes);
  }
  return builder_.Call(key::kView, {value}, {{"text", use.view}}, {type})[0];
}

void Lowering::Add(const Op& op) {
  builder_.SetSpan({op.file, op.line, op.symbol});
  std::vector<ir::Value> args;
  for (const TensorUse& use : op.in) args.push_back(Use(use));
  std::vector<ir::Type> types;
  for (const TensorUse& use : op.out) types.push_back(TypeOf(use));
  ir::Node node;
  const TensorUse* unsupported = Unsupported(op);
  node.op = op.op == "opaque" || unsupported ? ir::Op::kOpaque : ir::Op::kCall;
  node.name = op.op;
  if (unsupported != nullptr) {
    node.name = fmt::format("{} with element type {}", op.op, unsupported->dtype);
  } else if (const Attr* reason = op.Find("reason"); reason && op.op == "opaque") {
    node.name = AttrText(*reason);
  }
  for (const ir::Value& arg : args) node.args.push_back(arg.id());
  node.call = Attributes(op);
  node.results = types;
  const ir::Value call = builder_.Add(std::move(node));
  for (size_t i = 0; i < op.out.size(); ++i) {
    ir::Value value = call;
    if (types.size() > 1) {
      ir::Node result;
      result.op = ir::Op::kResult;
      result.args = {call.id()};
      result.dim = static_cast<int>(i);
      value = builder_.Add(std::move(result));
    }
    values_[op.out[i].id] = value;
    defined_.push_back(op.out[i].id);
  }
}

}  // namespace

ir::Graph LowerOps(std::string name, const std::vector<Op>& ops) {
  Lowering lowering(std::move(name));
  for (const Op& op : ops) lowering.Add(op);
  return lowering.Finish();
}

ir::Graph LowerVariant(const Variant& variant) {
  return LowerOps(variant.layer_class, variant.ops);
}

ir::Graph LowerFunction(const FunctionTrace& trace) {
  Lowering lowering(trace.name);
  for (const FunctionArgument& argument : trace.arguments) {
    if (argument.tensor) {
      lowering.Argument(argument.tensor->id, argument.name, *argument.tensor);
    } else if (!argument.default_value) {
      lowering.builder().Attr(argument.name);
    }
  }
  for (const Op& op : trace.ops) lowering.Add(op);
  for (size_t i = 0; i < trace.results.size(); ++i) {
    const std::string name = trace.results.size() == 1 ? "y" : "y" + std::to_string(i);
    lowering.builder().Output(name, lowering.Use(trace.results[i]));
  }
  return lowering.builder().Take();
}

}  // namespace tenon::analyze
