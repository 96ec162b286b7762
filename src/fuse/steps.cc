#include "fuse/steps.h"

#include "base/error.h"
#include "ir/source_op.h"

namespace tenon::fuse {
namespace {

namespace key = ir::source_op;

bool IsMovement(ir::Op op) {
  return op == ir::Op::kSlice || op == ir::Op::kReshape || op == ir::Op::kTranspose ||
         op == ir::Op::kBroadcast;
}

bool IsViewCall(const ir::Node& node) {
  return node.op == ir::Op::kCall && node.name == key::kView;
}

}  // namespace

Sequence::Sequence(const Layer& layer) : layer_(&layer) {
  step_of_.assign(graph().nodes().size(), -1);
  for (size_t i = 0; i < graph().nodes().size(); ++i) {
    const ir::Node& node = graph().nodes()[i];
    const auto id = static_cast<ir::NodeId>(i);
    if (node.op == ir::Op::kResult) {
      const int step = step_of_[static_cast<size_t>(node.args[0])];
      if (step < 0) continue;
      step_of_[i] = step;
      steps_[static_cast<size_t>(step)].results[static_cast<size_t>(node.dim)] = id;
    } else if ((node.op == ir::Op::kCall && !IsViewCall(node)) || node.op == ir::Op::kOpaque) {
      AddStep(id);
    }
  }
  for (int i = 0; i < size(); ++i) {
    uses_.emplace_back(step(i).results.size());
    for (size_t k = 0; k < step(i).in.size(); ++k) {
      const Operand& operand = step(i).in[k];
      if (operand.producer < 0) continue;
      uses_[static_cast<size_t>(operand.producer)][static_cast<size_t>(operand.result)].push_back(
          {i, static_cast<int>(k)});
    }
  }
}

void Sequence::AddStep(ir::NodeId call) {
  const ir::Node& node = graph().node(call);
  Step step;
  step.call = call;
  step.op = node.op == ir::Op::kOpaque ? "opaque" : node.name;
  step.is_view = step.op == key::kSplit;
  step.results.assign(std::max<size_t>(node.results.size(), 1), call);
  for (const ir::NodeId arg : node.args) step.in.push_back(Resolve(arg));
  step_of_[static_cast<size_t>(call)] = size();
  steps_.push_back(std::move(step));
  const int at = size() - 1;
  steps_.back().index = static_cast<int>(Int(at, key::kIndex).value_or(at));
  steps_.back().aux = Bool(at, key::kAux).value_or(false);
  steps_.back().stream = Word(at, key::kGroup) + "/" + Word(at, "stream");
}

Operand Sequence::Resolve(ir::NodeId value) const {
  Operand operand{value, value, -1, 0};
  const ir::Node* node = &graph().node(value);
  while (IsMovement(node->op) || IsViewCall(*node)) {
    operand.root = node->args[0];
    node = &graph().node(operand.root);
  }
  operand.producer = step_of_[static_cast<size_t>(operand.root)];
  if (node->op == ir::Op::kResult) operand.result = node->dim;
  return operand;
}

const std::vector<Use>& Sequence::Uses(int step, int result) const {
  return uses_[static_cast<size_t>(step)][static_cast<size_t>(result)];
}

std::vector<Use> Sequence::Uses(int step) const {
  std::vector<Use> all;
  for (const auto& uses : uses_[static_cast<size_t>(step)]) {
    all.insert(all.end(), uses.begin(), uses.end());
  }
  return all;
}

const ir::AttrValue* Sequence::Attr(int i, std::string_view name) const {
  const auto& call = graph().node(step(i).call).call;
  const auto found = call.find(std::string(name));
  return found == call.end() ? nullptr : &found->second;
}

std::optional<int64_t> Sequence::Int(int i, std::string_view name) const {
  const ir::AttrValue* value = Attr(i, name);
  if (value == nullptr || !std::holds_alternative<int64_t>(*value)) return std::nullopt;
  return std::get<int64_t>(*value);
}

std::optional<double> Sequence::Float(int i, std::string_view name) const {
  const ir::AttrValue* value = Attr(i, name);
  if (value == nullptr) return std::nullopt;
  if (const auto* v = std::get_if<double>(value)) return *v;
  if (const auto* v = std::get_if<int64_t>(value)) return static_cast<double>(*v);
  return std::nullopt;
}

std::optional<bool> Sequence::Bool(int i, std::string_view name) const {
  const ir::AttrValue* value = Attr(i, name);
  if (value == nullptr || !std::holds_alternative<bool>(*value)) return std::nullopt;
  return std::get<bool>(*value);
}

std::string Sequence::Word(int i, std::string_view name) const {
  const ir::AttrValue* value = Attr(i, name);
  const auto* word = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return word == nullptr ? "" : *word;
}

const ir::Span& Sequence::span(int i) const { return graph().node(step(i).call).span; }

int Sequence::WeightOperand(int i) const {
  const Step& of = step(i);
  for (size_t k = 0; k < of.in.size(); ++k) {
    const ir::Node& root = graph().node(of.in[k].root);
    // A weight does not grow with the tokens and is named after its module.
    if (root.op == ir::Op::kInput && root.name.find('.') != std::string::npos) {
      return static_cast<int>(k);
    }
  }
  return -1;
}

}  // namespace tenon::fuse
