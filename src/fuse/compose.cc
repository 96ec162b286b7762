#include "fuse/compose.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "fuse/body.h"
#include "ir/source_op.h"
#include "ir/transform.h"

namespace tenon::fuse {
namespace {

bool IsMovement(ir::Op op) {
  return op == ir::Op::kSlice || op == ir::Op::kReshape || op == ir::Op::kTranspose ||
         op == ir::Op::kBroadcast;
}

// Names that operands have in the interfaces of the documentation.
std::string_view OperandName(std::string_view op, size_t operand) {
  if (op == "split") return "qkv";
  if (op == "add" || op == "fused_add_rms_norm") return operand == 0 ? "x" : "residual";
  if (op == "mul" && operand == 1) return "gate";
  if (op == "rotary_embedding" || op == "qk_norm") return operand == 0 ? "q" : "k";
  return "x";
}

// q_weight and k_weight of a qk_norm, else the last word: "input_layernorm.weight" -> weight.
std::string WeightName(const ir::Graph& graph, const ir::Node& reader, ir::NodeId id) {
  const size_t tensors = reader.results.size();
  if (reader.name == "qk_norm" && reader.args.size() > tensors) {
    return reader.args[tensors] == id ? "q_weight" : "k_weight";
  }
  return Split(graph.node(id).name, '.').back();
}

std::vector<std::string_view> ResultNames(const ir::Node& call) {
  if (call.name == "split" && call.results.size() == 3) return {"q", "k", "v"};
  if (call.name == "rotary_embedding" || call.name == "qk_norm") return {"q", "k"};
  if (call.name == "fused_add_rms_norm") return {"y", "residual_out"};
  if (call.name == "quantize") return {"y", "y_scale"};
  if (call.name == "add") return {"residual_out"};
  return {"y"};
}

}  // namespace

ir::Value WithAxes(ir::Value value, const std::vector<ir::Axis>& axes) {
  if (value.type().axes == axes) return value;
  // A reshape of a reshape is one.
  const ir::Node& node = value.builder()->graph().node(value.id());
  if (node.op == ir::Op::kReshape) return WithAxes({value.builder(), node.args[0]}, axes);
  return Reshape(value, axes);
}

ir::Value AlignTo(ir::Value value, const ir::Type& type) {
  const std::vector<ir::Axis>& have = value.type().axes;
  TENON_CHECK(have.size() <= type.axes.size(), "{} does not broadcast to {}",
              ir::TypeText(value.type()), ir::TypeText(type));
  std::vector<ir::Axis> axes;
  const size_t skipped = type.axes.size() - have.size();
  for (size_t i = 0; i < have.size(); ++i) {
    const ir::Axis& to = type.axes[skipped + i];
    if (have[i].size == ir::Dim(1) && !(to.size == ir::Dim(1))) continue;
    TENON_CHECK(have[i].size == to.size, "{} does not broadcast to {}", ir::TypeText(value.type()),
                ir::TypeText(type));
    axes.push_back(to);
  }
  return WithAxes(value, axes);
}

Composer::Composer(const ComposeRequest& request) : request_(request), builder_(request.name) {}

ir::Type Composer::Translate(const ir::Type& type) const {
  ir::Type result = type;
  if (type.elem.concrete() && type.elem.dtype == request_.storage) {
    result.elem = ir::Elem::Storage();
  }
  for (ir::Axis& axis : result.axes) {
    if (axis.size == ir::Dim(request_.rows)) axis.name = "tokens";
    axis.size = axis.size.Substitute({{request_.rows, ir::Dim("tokens")}});
  }
  return result;
}

ir::Elem Composer::ResultElem(const ir::Node& call, size_t result) const {
  return Translate(call.results.at(result)).elem;
}

std::string Composer::Unique(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  std::string unique = name;
  for (int i = 2; !names_.insert(unique).second; ++i) unique = fmt::format("{}_{}", name, i);
  return unique;
}

ir::Value Composer::HiddenInput(std::string_view name, ir::Elem elem, std::vector<ir::Axis> axes) {
  const auto known = weights_.find(std::string(name));
  if (known != weights_.end()) return known->second;
  return weights_[std::string(name)] =
             builder_.Input(Unique(std::string(name)), elem, std::move(axes));
}

ir::Value Composer::External(ir::NodeId id) {
  const ir::Node& node = source(id);
  ir::Type type = Translate(node.type);
  const bool has_rows = std::any_of(type.axes.begin(), type.axes.end(), [](const ir::Axis& axis) {
    const auto symbols = axis.size.symbols();
    return std::find(symbols.begin(), symbols.end(), "tokens") != symbols.end();
  });
  if (!type.elem.is_float()) {
    type.elem = ir::Elem::Index();
  } else if (!has_rows) {
    type.elem = ir::Elem::Param();
  }
  if (node.op == ir::Op::kInput && node.name.find('.') != std::string::npos) {
    const auto known = weights_.find(node.name);
    if (known != weights_.end()) return known->second;
    std::string name = WeightName(*part_->graph, source(reading_), id);
    return weights_[node.name] = builder_.Input(Unique(std::move(name)), type.elem, type.axes);
  }
  std::string name = node.name;  // an argument of a function
  const bool of_layer = !request_.is_function;
  if (of_layer && type.elem == ir::Elem::Index()) {
    name = "positions";
  } else if (of_layer) {
    const ir::Node& reader = source(reading_);
    const auto at = std::find_if(reader.args.begin(), reader.args.end(), [&](ir::NodeId arg) {
      while (IsMovement(source(arg).op)) arg = source(arg).args[0];
      return arg == id;
    });
    name = OperandName(reader.name, static_cast<size_t>(at - reader.args.begin()));
  }
  return builder_.Input(Unique(name), type.elem, type.axes);
}

ir::Value Composer::Of(ir::NodeId id) {
  const auto known = values_.find(id);
  const ir::Node& node = source(id);
  const ir::Type type = Translate(node.type);
  if (known != values_.end()) {
    return known->second.type().numel() == type.numel() ? WithAxes(known->second, type.axes)
                                                        : known->second;
  }
  ir::Value value;
  if (IsMovement(node.op)) {
    const ir::Value of = Of(node.args[0]);
    if (node.op == ir::Op::kSlice) {
      const std::string axis = of.type().axes[static_cast<size_t>(node.dim)].name;
      value = Slice(of, axis, node.offset, type.axes[static_cast<size_t>(node.dim)]);
    } else if (node.op == ir::Op::kReshape) {
      value = of;
    } else {
      Refuse(source(reading_), "one of its operands is a transposed or expanded view");
    }
    value = WithAxes(value, type.axes);
  } else if (node.op == ir::Op::kAttr) {
    value = builder_.Attr(node.name);
  } else if (node.op == ir::Op::kCall && node.name == ir::source_op::kView) {
    Refuse(source(reading_), fmt::format("one of its operands is the view {}", Word(node, "text")));
  } else {
    value = External(id);
  }
  values_[id] = value;
  return value;
}

std::vector<ir::Value> Composer::Call(std::string_view op, std::string_view names,
                                      const std::vector<ir::Value>& args,
                                      std::map<std::string, ir::AttrValue> attributes,
                                      std::vector<ir::Type> results) {
  FillDefaults(op, attributes);
  attributes[std::string(ir::kCallArgs)] = std::string(names);
  return builder_.Call(op, args, std::move(attributes), std::move(results));
}

void Composer::RunPart(const ComposePart& part) {
  part_ = &part;
  values_.clear();
  results_.clear();
  if (part.linked_input >= 0) values_[part.linked_input] = last_;
  if (request_.is_function) {
    for (const ir::NodeId input : part.graph->inputs()) Of(input);
  }
  for (const ir::NodeId id : part.calls) {
    const ir::Node& call = source(id);
    const Translation translation = FindTranslation(call.name);
    if (translation == nullptr || call.op != ir::Op::kCall) Refuse(call, "it has no body yet");
    reading_ = id;
    builder_.SetSpan(call.span);
    std::vector<ir::Value> results = translation(*this, call);
    last_ = results.at(0);
    values_[id] = results[0];
    for (size_t i = 0; i < part.graph->nodes().size(); ++i) {
      const ir::Node& node = part.graph->nodes()[i];
      if (node.op == ir::Op::kResult && node.args[0] == id) {
        values_[static_cast<ir::NodeId>(i)] = results.at(static_cast<size_t>(node.dim));
      }
    }
    results_[id] = std::move(results);
  }
}

void Composer::AddOutputs(const ComposePart& part, bool last) {
  const auto& nodes = part.graph->nodes();
  // Nodes that something outside the chain reads; views are read by who reads them.
  std::set<ir::NodeId> read;
  const auto read_by = [&](ir::NodeId id) {
    while (IsMovement(nodes[static_cast<size_t>(id)].op)) {
      id = nodes[static_cast<size_t>(id)].args[0];
    }
    read.insert(id);
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    const bool inside = results_.contains(static_cast<ir::NodeId>(i));
    if (inside || IsMovement(nodes[i].op) || nodes[i].op == ir::Op::kResult) continue;
    for (const ir::NodeId arg : nodes[i].args) read_by(arg);
  }
  for (const ir::Output& output : part.graph->outputs()) read_by(output.value);
  for (const auto& [call, results] : results_) {
    std::vector<NamedValue> outputs;
    const ir::Node& node = source(call);
    const auto names = ResultNames(node);
    for (size_t i = 0; i < results.size(); ++i) {
      ir::NodeId id = call;
      for (size_t k = 0; k < nodes.size() && node.results.size() > 1; ++k) {
        if (nodes[k].op == ir::Op::kResult && nodes[k].args[0] == call &&
            nodes[k].dim == static_cast<int>(i)) {
          id = static_cast<ir::NodeId>(k);
        }
      }
      const bool linked = !last && call == part.calls.back() && i == 0;
      if (!read.contains(id) || (linked && !request_.keep_link)) continue;
      std::string name = i < names.size() ? std::string(names[i]) : fmt::format("y{}", i);
      if (part.calls.back() == call && names.size() == 1) name = linked ? "residual_out" : "y";
      outputs.push_back({std::move(name), results[i]});
    }
    outputs_.push_back(std::move(outputs));
  }
}

ir::Graph Composer::Run() {
  for (size_t i = 0; i < request_.parts.size(); ++i) {
    RunPart(request_.parts[i]);
    AddOutputs(request_.parts[i], i + 1 == request_.parts.size());
  }
  // What the last operator gives is what the caller asks for first.
  for (auto call = outputs_.rbegin(); call != outputs_.rend(); ++call) {
    for (NamedValue& output : *call) builder_.Output(Unique(std::move(output.name)), output.value);
  }
  return ir::EliminateDeadNodes(builder_.Take());
}

void Composer::Refuse(const ir::Node& call, std::string_view why) const {
  const std::string name = call.op == ir::Op::kOpaque ? "opaque operator" : call.name;
  throw UsageError(fmt::format("{} ({}:{}) cannot be part of a generated kernel: {}", name,
                               call.span.file, call.span.line, why));
}

double Composer::Float(const ir::Node& call, std::string_view name, double fallback) const {
  const auto it = call.call.find(std::string(name));
  if (it == call.call.end()) return fallback;
  if (const auto* v = std::get_if<double>(&it->second)) return *v;
  if (const auto* v = std::get_if<int64_t>(&it->second)) return static_cast<double>(*v);
  return fallback;
}

int64_t Composer::Int(const ir::Node& call, std::string_view name, int64_t fallback) const {
  const auto it = call.call.find(std::string(name));
  const auto* v = it == call.call.end() ? nullptr : std::get_if<int64_t>(&it->second);
  return v == nullptr ? fallback : *v;
}

bool Composer::Bool(const ir::Node& call, std::string_view name, bool fallback) const {
  const auto it = call.call.find(std::string(name));
  const auto* v = it == call.call.end() ? nullptr : std::get_if<bool>(&it->second);
  return v == nullptr ? fallback : *v;
}

std::string Composer::Word(const ir::Node& call, std::string_view name) const {
  const auto it = call.call.find(std::string(name));
  const auto* v = it == call.call.end() ? nullptr : std::get_if<std::string>(&it->second);
  return v == nullptr ? "" : *v;
}

std::vector<int64_t> Composer::Ints(const ir::Node& call, std::string_view name) const {
  const auto it = call.call.find(std::string(name));
  const auto* v = it == call.call.end() ? nullptr : std::get_if<std::vector<int64_t>>(&it->second);
  return v == nullptr ? std::vector<int64_t>() : *v;
}

ir::Graph Compose(const ComposeRequest& request) { return Composer(request).Run(); }

bool HasBody(std::string_view op) { return FindTranslation(op) != nullptr; }

}  // namespace tenon::fuse
