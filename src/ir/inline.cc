#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "ir/infer.h"
#include "ir/transform.h"

namespace tenon::ir {
namespace {

constexpr int kMaxDepth = 32;  // of calls within bodies: beyond it an operator calls itself

// The value of the only unknown size in `pattern` for which it equals `size`.
std::optional<std::pair<std::string, Dim>> SolveSize(const Dim& pattern, const Dim& size,
                                                     const std::map<std::string, Dim>& known) {
  const Dim partial = pattern.Substitute(known);
  std::vector<std::string> unknown;
  for (const std::string& name : pattern.symbols()) {
    if (!known.contains(name)) unknown.push_back(name);
  }
  if (unknown.size() != 1) return std::nullopt;
  // Linear in the unknown: value at 0, slope, and a check that it is so.
  const Dim at_zero = partial.Substitute({{unknown[0], Dim(0)}});
  const Dim slope = partial.Substitute({{unknown[0], Dim(1)}}) - at_zero;
  if (slope == Dim(0)) return std::nullopt;
  Dim value = Dim::FloorDiv(size - at_zero, slope);
  if (!(partial.Substitute({{unknown[0], value}}) == size)) return std::nullopt;
  return std::pair{unknown[0], std::move(value)};
}

// Puts one body in place of one call.
class BodyInliner {
 public:
  BodyInliner(Graph* target, const Node& call, const Graph& body)
      : target_(target), call_(call), body_(body), ids_(body.nodes().size(), -1) {}

  // Ids of the results in the target graph.
  std::vector<NodeId> Run() {
    const std::vector<NodeId> inputs = BoundInputs();
    for (const auto& [name, value] : call_.call) {
      if (const auto* integer = std::get_if<int64_t>(&value)) sizes_.insert({name, Dim(*integer)});
    }
    std::vector<NodeId> args;
    for (size_t i = 0; i < inputs.size(); ++i) args.push_back(WithRank(call_.args[i], inputs[i]));
    for (size_t pass = 0; pass < inputs.size(); ++pass) {
      for (size_t i = 0; i < inputs.size(); ++i) Unify(body_.node(inputs[i]).type, TypeOf(args[i]));
    }
    for (size_t i = 0; i < inputs.size(); ++i) Bind(inputs[i], args[i]);
    const std::vector<int> uses = body_.UseCounts();
    for (NodeId id = 0; id < static_cast<NodeId>(body_.nodes().size()); ++id) {
      NodeId& placed = ids_[static_cast<size_t>(id)];
      if (placed < 0 && uses[static_cast<size_t>(id)] > 0) placed = Place(id);
    }
    return Results();
  }

 private:
  const Type& TypeOf(NodeId id) const { return target_->node(id).type; }

  NodeId Add(Node node) {
    node.type = InferType(*target_, node);
    if (node.span.file.empty()) node.span = call_.span;
    return target_->Add(std::move(node));
  }

  NodeId ReshapeTo(NodeId id, std::vector<Axis> axes) {
    if (TypeOf(id).axes == axes) return id;
    Node node;
    node.op = Op::kReshape;
    node.args = {id};
    node.type = {TypeOf(id).elem, std::move(axes)};
    return Add(std::move(node));
  }

  // The body's inputs that the call's arguments are.
  std::vector<NodeId> BoundInputs() const {
    const std::vector<NodeId> declared = body_.inputs();
    std::vector<NodeId> bound;
    if (const auto it = call_.call.find(std::string(kCallArgs)); it != call_.call.end()) {
      for (const std::string& name : Split(std::get<std::string>(it->second), ',')) {
        bound.push_back(body_.FindInput(name));
        TENON_CHECK(bound.back() >= 0, "{}: has no input {}", call_.name, name);
      }
      TENON_CHECK(bound.size() == call_.args.size(), "{}: {} names for {} arguments", call_.name,
                  bound.size(), call_.args.size());
      return bound;
    }
    TENON_CHECK(call_.args.size() <= declared.size(), "{}: takes at most {} arguments, got {}",
                call_.name, declared.size(), call_.args.size());
    bound.assign(declared.begin(), declared.begin() + static_cast<int64_t>(call_.args.size()));
    return bound;
  }

  // Merges leading axes until the argument has as many axes as the body's input: rows are rows.
  NodeId WithRank(NodeId arg, NodeId input) {
    const Type& want = body_.node(input).type;
    const Type& have = TypeOf(arg);
    TENON_CHECK(have.axes.size() >= want.axes.size() &&
                    (have.axes.size() == want.axes.size() || !want.axes.empty()),
                "{}: {} must be {}, got {}", call_.name, body_.node(input).name, TypeText(want),
                TypeText(have));
    const size_t merged = have.axes.size() - want.axes.size();
    if (merged == 0) return arg;
    Axis rows{"", Dim(1)};
    for (size_t i = 0; i <= merged; ++i) {
      rows.name += (i == 0 ? "" : "_") + have.axes[i].name;
      rows.size = rows.size * have.axes[i].size;
    }
    std::vector<Axis> axes = {rows};
    axes.insert(axes.end(), have.axes.begin() + static_cast<int64_t>(merged) + 1, have.axes.end());
    return ReshapeTo(arg, std::move(axes));
  }

  // Learns sizes, T and axis names from one argument.
  void Unify(const Type& want, const Type& have) {
    for (size_t i = 0; i < want.axes.size(); ++i) {
      if (const auto solved = SolveSize(want.axes[i].size, have.axes[i].size, sizes_)) {
        sizes_.insert(*solved);
      }
      const std::string& name = have.axes[i].name;
      if (!axis_names_.contains(want.axes[i].name) && !taken_.contains(name)) {
        axis_names_[want.axes[i].name] = name;
        taken_.insert(name);
      }
    }
    if (want.elem == Elem::Storage() && !storage_) storage_ = have.elem;
  }

  // The name in the target of an axis of the body.
  const std::string& AxisName(const std::string& name) {
    const auto it = axis_names_.find(name);
    if (it != axis_names_.end()) return it->second;
    std::string unique = name;
    for (int i = 2; !taken_.insert(unique).second; ++i) unique = fmt::format("{}_{}", name, i);
    return axis_names_[name] = unique;
  }

  Type Translate(Type type) {
    if (type.elem == Elem::Storage() && storage_) type.elem = *storage_;
    for (Axis& axis : type.axes) axis = {AxisName(axis.name), axis.size.Substitute(sizes_)};
    return type;
  }

  void Bind(NodeId input, NodeId arg) {
    const Node& node = body_.node(input);
    const Type want = Translate(node.type);
    const Type& have = TypeOf(arg);
    bool fits = want.elem == Elem::Param()   ? have.elem.is_float()
                : want.elem == Elem::Index() ? !have.elem.is_float()
                                             : want.elem == have.elem;
    for (size_t i = 0; i < want.axes.size(); ++i) {
      fits = fits && want.axes[i].size == have.axes[i].size;
    }
    TENON_CHECK(fits, "{}: {} must be {}, got {}", call_.name, node.name, TypeText(want),
                TypeText(have));
    ids_[static_cast<size_t>(input)] = ReshapeTo(arg, want.axes);
  }

  NodeId Constant(double value, Elem elem) {
    Node node;
    node.op = Op::kConst;
    node.value = value;
    node.type = {elem, {}};
    return Add(std::move(node));
  }

  NodeId Absent(const Node& input) {
    TENON_CHECK(input.optional, "{}: input {} has no argument", call_.name, input.name);
    // Sizes that only absent inputs have do not matter.
    for (const Axis& axis : input.type.axes) {
      for (const std::string& name : axis.size.symbols()) sizes_.insert({name, Dim(1)});
    }
    Type type = Translate(input.type);
    if (type.elem == Elem::Param()) type.elem = DType::kF32;
    if (type.elem == Elem::Index()) type.elem = DType::kI64;
    const NodeId scalar = Constant(input.value, type.elem);
    if (type.axes.empty()) return scalar;
    Node node;
    node.op = Op::kBroadcast;
    node.args = {scalar};
    node.type = std::move(type);
    return Add(std::move(node));
  }

  NodeId Attribute(const Node& attr) {
    const auto it = call_.call.find(attr.name);
    TENON_CHECK(it != call_.call.end(), "{}: attribute {} has no value", call_.name, attr.name);
    const AttrValue& value = it->second;
    if (const auto* real = std::get_if<double>(&value)) return Constant(*real, attr.type.elem);
    if (const auto* integer = std::get_if<int64_t>(&value)) {
      return Constant(static_cast<double>(*integer), attr.type.elem);
    }
    const auto* flag = std::get_if<bool>(&value);
    TENON_CHECK(flag != nullptr, "{}: attribute {} must be a number", call_.name, attr.name);
    return Constant(*flag ? 1 : 0, attr.type.elem);
  }

  bool IsBound(const std::string& input) const {
    const NodeId id = body_.FindInput(input);
    const std::vector<NodeId> bound = BoundInputs();
    return std::find(bound.begin(), bound.end(), id) != bound.end();
  }

  NodeId Place(NodeId id) {
    Node node = body_.node(id);
    if (node.op == Op::kInput) return Absent(node);
    if (node.op == Op::kAttr) return Attribute(node);
    if (node.op == Op::kPresent) return Constant(IsBound(node.name) ? 1 : 0, DType::kBool);
    for (NodeId& arg : node.args) arg = ids_[static_cast<size_t>(arg)];
    node.type = Translate(node.type);
    for (Type& result : node.results) result = Translate(result);
    if (!node.axis.empty()) node.axis = AxisName(node.axis);
    node.offset = node.offset.Substitute(sizes_);
    return Add(std::move(node));
  }

  std::vector<NodeId> Results() {
    TENON_CHECK(body_.outputs().size() == call_.results.size(),
                "{}: has {} outputs, the call expects {}", call_.name, body_.outputs().size(),
                call_.results.size());
    std::vector<NodeId> results;
    for (size_t i = 0; i < call_.results.size(); ++i) {
      const NodeId id = ids_[static_cast<size_t>(body_.outputs()[i].value)];
      const Type& declared = call_.results[i];
      TENON_CHECK(TypeOf(id).elem == declared.elem && TypeOf(id).numel() == declared.numel(),
                  "{}: output {} is {}, the call expects {}", call_.name, body_.outputs()[i].name,
                  TypeText(TypeOf(id)), TypeText(declared));
      results.push_back(ReshapeTo(id, declared.axes));
    }
    return results;
  }

  Graph* target_;
  const Node& call_;  // its arguments are ids of the target graph
  const Graph& body_;
  std::vector<NodeId> ids_;  // body node -> target node
  std::map<std::string, Dim> sizes_;
  std::map<std::string, std::string> axis_names_;  // body -> target, one to one
  std::set<std::string> taken_;                    // target names of axis_names_
  std::optional<Elem> storage_;
};

Graph InlineAt(const Graph& caller, const CallResolver& resolver, int depth) {
  TENON_CHECK(depth < kMaxDepth, "{}: calls nest deeper than {}: an operator calls itself",
              caller.name(), kMaxDepth);
  GraphCopy copy(caller);
  std::map<NodeId, std::vector<NodeId>> results;  // of inlined calls
  for (NodeId id = 0; id < static_cast<NodeId>(caller.nodes().size()); ++id) {
    const Node& original = caller.node(id);
    if (original.op == Op::kResult && results.contains(original.args[0])) {
      copy.Set(id, results[original.args[0]][static_cast<size_t>(original.dim)]);
      continue;
    }
    Node node = copy.Remapped(id);
    const std::optional<Graph> body = node.op == Op::kCall ? resolver(node) : std::nullopt;
    if (!body) {
      copy.Set(id, copy.Add(std::move(node)));
      continue;
    }
    const Graph flat = EliminateDeadNodes(InlineAt(*body, resolver, depth + 1));
    std::vector<NodeId> placed = BodyInliner(&copy.graph(), node, flat).Run();
    copy.Set(id, placed[0]);
    results[id] = std::move(placed);
  }
  copy.CopyOutputs();
  return std::move(copy.graph());
}

}  // namespace

Graph Inline(const Graph& caller, const CallResolver& resolver) {
  return InlineAt(caller, resolver, 0);
}

}  // namespace tenon::ir
