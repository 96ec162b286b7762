#include "ir/normal_form.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/error.h"
#include "base/hash.h"
#include "ir/infer.h"
#include "ir/op_table.h"
#include "ir/transform.h"

namespace tenon::ir {
namespace {

const Elem kF32(DType::kF32);

bool Commutes(Op op) {
  switch (op) {
    case Op::kAdd:
    case Op::kMul:
    case Op::kFma:  // the factors
    case Op::kEq:
    case Op::kNe:
    case Op::kAnd:
    case Op::kOr:
    case Op::kBitAnd:
    case Op::kBitOr:
      return true;
    default:
      return false;
  }
}

// Reads its float arguments widened to f32, so that it does not matter whether they are.
bool WidensArguments(const Node& node) {
  switch (RowOf(node.op).op_class) {
    case OpClass::kElementwise:
      return node.op != Op::kSelect && node.op != Op::kBitsOf;
    case OpClass::kPrecision:
    case OpClass::kReduction:
    case OpClass::kProduct:
      return true;
    default:
      return false;
  }
}

bool IsPowerOfTwo(double v) {
  int exponent = 0;
  return std::abs(std::frexp(v, &exponent)) == 0.5 && std::abs(exponent) < 120;
}

class Normaliser {
 public:
  explicit Normaliser(const Graph& source) : copy_(source) {}

  Graph Run(const Graph& source) {
    for (NodeId id = 0; id < static_cast<NodeId>(source.nodes().size()); ++id) {
      copy_.Set(id, Simplify(copy_.Remapped(id)));
    }
    copy_.CopyOutputs();
    return Renumber(copy_.graph());
  }

 private:
  const Node& At(NodeId id) { return copy_.graph().node(id); }
  const Type& TypeOf(NodeId id) { return At(id).type; }

  bool IsConst(NodeId id, double value) {
    const Node& node = At(id);
    return node.op == Op::kConst && node.value == value &&
           std::signbit(node.value) == std::signbit(value);
  }

  bool IsFloatNeg(NodeId id) { return At(id).op == Op::kNeg && TypeOf(id).elem == kF32; }

  // Adds a node whose arguments are in normal form, itself brought to it.
  NodeId Simplify(Node node) {
    if (WidensArguments(node)) {
      for (NodeId& arg : node.args) arg = WithoutWidening(arg);
    }
    if (IsElementwise(node.op)) DropBroadcasts(&node);
    node.type = InferType(copy_.graph(), node);
    std::optional<NodeId> other = Identity(node);
    if (!other) other = Fold(node);
    if (!other) other = Respell(node);
    if (other) {
      TENON_ASSERT(TypeOf(*other) == node.type, "{}: {} became {}", OpName(node.op),
                   TypeText(node.type), TypeText(TypeOf(*other)));
      return *other;
    }
    Order(&node);
    return copy_.Add(std::move(node));
  }

  NodeId Make(const Node& like, Op op, std::vector<NodeId> args) {
    Node node;
    node.op = op;
    node.args = std::move(args);
    node.propagate_nan = like.propagate_nan;
    node.span = like.span;
    return Simplify(std::move(node));
  }

  NodeId Constant(double value, const Elem& elem) {
    Node node;
    node.op = Op::kConst;
    node.value = value;
    node.type = {elem, {}};
    return copy_.Add(std::move(node));
  }

  NodeId WithoutWidening(NodeId id) {
    const Node& node = At(id);
    if (node.op == Op::kCast && node.type.elem == kF32 && TypeOf(node.args[0]).elem.is_float()) {
      return node.args[0];
    }
    return id;
  }

  // A broadcast argument goes when the other arguments still give the result its axes.
  void DropBroadcasts(Node* node) {
    const Type type = InferType(copy_.graph(), *node);
    for (NodeId& arg : node->args) {
      if (At(arg).op != Op::kBroadcast) continue;
      const NodeId whole = arg;
      arg = At(whole).args[0];
      const bool reads = std::any_of(node->args.begin(), node->args.end(),
                                     [&](NodeId a) { return TypeOf(a).axes == type.axes; });
      if (!reads) arg = whole;
    }
  }

  // `id` as a value of `type`: itself, or widened; nothing when the axes differ.
  std::optional<NodeId> As(NodeId id, const Type& type) {
    if (TypeOf(id) == type) return id;
    if (TypeOf(id).axes != type.axes || type.elem != kF32 || !TypeOf(id).elem.is_float()) {
      return std::nullopt;
    }
    Node widen;
    widen.op = Op::kCast;
    widen.args = {id};
    widen.type.elem = kF32;
    widen.span = At(id).span;
    return copy_.Add(std::move(widen));
  }

  // The argument that `node` equals.
  std::optional<NodeId> Identity(const Node& node) {
    const auto arg = [&](size_t i) { return node.args[i]; };
    switch (node.op) {
      case Op::kMul:
        if (IsConst(arg(1), 1)) return As(arg(0), node.type);
        return IsConst(arg(0), 1) ? As(arg(1), node.type) : std::nullopt;
      case Op::kDiv:
        return IsConst(arg(1), 1) ? As(arg(0), node.type) : std::nullopt;
      case Op::kAdd:
        if (IsConst(arg(1), -0.0)) return As(arg(0), node.type);
        return IsConst(arg(0), -0.0) ? As(arg(1), node.type) : std::nullopt;
      case Op::kNeg:
      case Op::kNot:
        return At(arg(0)).op == node.op ? As(At(arg(0)).args[0], node.type) : std::nullopt;
      case Op::kAbs:
        return At(arg(0)).op == Op::kAbs ? As(arg(0), node.type) : std::nullopt;
      case Op::kCast:
      case Op::kRound:
      case Op::kReshape:
      case Op::kTranspose:
      case Op::kBroadcast:
      case Op::kSlice:
        if (TypeOf(arg(0)) == node.type) return arg(0);
        return std::nullopt;
      case Op::kConcat:
        if (node.args.size() == 1 && TypeOf(arg(0)) == node.type) return arg(0);
        return std::nullopt;
      case Op::kCopy:
        return arg(0);
      default:
        return std::nullopt;
    }
  }

  // Correctly rounded float32 operations on constants.
  std::optional<NodeId> Fold(const Node& node) {
    if (node.args.empty() || node.type.elem != kF32) return std::nullopt;
    std::vector<float> v;
    for (NodeId id : node.args) {
      if (At(id).op != Op::kConst || TypeOf(id).elem != kF32) return std::nullopt;
      v.push_back(static_cast<float>(At(id).value));
    }
    switch (node.op) {
      case Op::kAdd:
        return Constant(static_cast<double>(v[0] + v[1]), kF32);
      case Op::kSub:
        return Constant(static_cast<double>(v[0] - v[1]), kF32);
      case Op::kMul:
        return Constant(static_cast<double>(v[0] * v[1]), kF32);
      case Op::kDiv:
        return Constant(static_cast<double>(v[0] / v[1]), kF32);
      case Op::kNeg:
        return Constant(static_cast<double>(-v[0]), kF32);
      case Op::kSqrt:
        return Constant(static_cast<double>(std::sqrt(v[0])), kF32);
      default:
        return std::nullopt;
    }
  }

  std::optional<NodeId> Respell(const Node& node) {
    switch (node.op) {
      case Op::kSub:
      case Op::kAdd:
      case Op::kMul:
      case Op::kDiv:
      case Op::kAbs:
        return node.type.elem == kF32 ? RespellArithmetic(node) : std::nullopt;
      case Op::kMax:
        return RespellClamp(node);
      case Op::kSelect:
        if (At(node.args[0]).op != Op::kNot) return std::nullopt;
        return Make(node, Op::kSelect, {At(node.args[0]).args[0], node.args[2], node.args[1]});
      case Op::kCast:
      case Op::kRound:
        return RespellPrecision(node);
      case Op::kReshape:
      case Op::kTranspose:
      case Op::kBroadcast:
        return JoinMovement(node);
      case Op::kSlice:
        return JoinSlice(node);
      default:
        return std::nullopt;
    }
  }

  std::optional<NodeId> RespellArithmetic(const Node& node) {
    const NodeId a = node.args[0];
    if (node.op == Op::kAbs) {
      if (At(a).op != Op::kNeg) return std::nullopt;
      return Make(node, Op::kAbs, {At(a).args[0]});
    }
    const NodeId b = node.args[1];
    const bool constant = At(b).op == Op::kConst && TypeOf(b).elem == kF32;
    switch (node.op) {
      case Op::kSub:
        if (constant) return Make(node, Op::kAdd, {a, Constant(-At(b).value, kF32)});
        if (IsFloatNeg(b)) return Make(node, Op::kAdd, {a, At(b).args[0]});
        return std::nullopt;
      case Op::kAdd:
        if (IsFloatNeg(b)) return Make(node, Op::kSub, {a, At(b).args[0]});
        if (IsFloatNeg(a)) return Make(node, Op::kSub, {b, At(a).args[0]});
        return std::nullopt;
      case Op::kMul:
        if (IsConst(b, -1) && TypeOf(a).elem.is_float()) return Make(node, Op::kNeg, {a});
        if (IsConst(a, -1) && TypeOf(b).elem.is_float()) return Make(node, Op::kNeg, {b});
        return std::nullopt;
      default:
        if (At(b).op == Op::kSqrt && IsConst(a, 1)) {
          return Make(node, Op::kRsqrt, {At(b).args[0]});
        }
        if (!constant || !IsPowerOfTwo(At(b).value)) return std::nullopt;
        return Make(node, Op::kMul, {a, Constant(1 / At(b).value, kF32)});
    }
  }

  // The constant among the two arguments of a min or max, and the other one.
  std::optional<std::pair<NodeId, double>> Bound(const Node& node) {
    for (size_t i = 0; i < 2; ++i) {
      const Node& bound = At(node.args[i]);
      if (bound.op == Op::kConst && bound.value != 0 && !std::isnan(bound.value)) {
        return std::pair{node.args[1 - i], bound.value};
      }
    }
    return std::nullopt;
  }

  std::optional<NodeId> RespellClamp(const Node& max) {
    const auto low = Bound(max);
    if (!low || At(low->first).op != Op::kMin) return std::nullopt;
    const Node min = At(low->first);
    const auto high = Bound(min);
    if (!high || !(low->second < high->second) || !max.propagate_nan || !min.propagate_nan) {
      return std::nullopt;
    }
    const NodeId low_id = max.args[0] == low->first ? max.args[1] : max.args[0];
    const NodeId high_id = min.args[0] == high->first ? min.args[1] : min.args[0];
    return Make(max, Op::kMin, {Make(max, Op::kMax, {high->first, low_id}), high_id});
  }

  std::optional<NodeId> RespellPrecision(const Node& node) {
    const Elem& to = node.type.elem;
    const Elem& from = TypeOf(node.args[0]).elem;
    const bool narrows = from.is_float() && to.is_float() && to != kF32;
    const bool nearest = node.cast.rounding == Rounding::kNearestEven &&
                         (node.cast.saturate || to != Elem(DType::kF8E4M3));
    Node other = node;
    other.cast = {};
    if (node.op == Op::kCast && narrows && nearest) {
      other.op = Op::kRound;
    } else if (node.op == Op::kRound && !narrows) {
      other.op = Op::kCast;
    } else if (node.op == Op::kCast && from.is_float() && to == kF32 && node.cast != CastRule{}) {
      // Widening is exact: its rule does not matter.
    } else {
      return std::nullopt;
    }
    return Simplify(std::move(other));
  }

  std::optional<NodeId> JoinMovement(const Node& node) {
    if (At(node.args[0]).op != node.op) return std::nullopt;
    Node joined = node;
    joined.args = {At(node.args[0]).args[0]};
    return Simplify(std::move(joined));
  }

  std::optional<NodeId> JoinSlice(const Node& node) {
    const Node& from = At(node.args[0]);
    Node joined = node;
    if (from.dim != node.dim) return std::nullopt;
    if (from.op == Op::kSlice) {
      joined.args = {from.args[0]};
      joined.offset = node.offset + from.offset;
      return Simplify(std::move(joined));
    }
    if (from.op != Op::kConcat) return std::nullopt;
    Dim offset(0);
    const auto dim = static_cast<size_t>(node.dim);
    for (NodeId part : from.args) {
      const Dim size = TypeOf(part).axes[dim].size;
      // Lies within this part when it starts where the part does and is not longer; or the sizes
      // are numbers.
      const auto begin = (node.offset - offset).constant();
      const auto rest = (size - node.type.axes[dim].size).constant();
      if (begin && rest && *begin >= 0 && *begin <= *rest && TypeOf(part).elem == from.type.elem) {
        joined.args = {part};
        joined.offset = Dim(*begin);
        joined.type = TypeOf(part);
        joined.type.axes[dim] = node.type.axes[dim];
        return Simplify(std::move(joined));
      }
      offset = offset + size;
    }
    return std::nullopt;
  }

  // Larger arguments first, constants and attributes last, then by structure; names and types come
  // last of all, so that a pattern and what it matches are ordered alike where structure decides.
  void Order(Node* node) {
    const bool bounded = (node->op == Op::kMin || node->op == Op::kMax) && Bound(*node);
    if (!Commutes(node->op) && !bounded) return;
    const auto key = [&](NodeId id) {
      const Node& arg = At(id);
      return std::tuple(-static_cast<int>(arg.type.axes.size()),
                        arg.op == Op::kConst || arg.op == Op::kAttr, Structure(id).shape,
                        Structure(id).full, id);
    };
    if (key(node->args[1]) < key(node->args[0])) std::swap(node->args[0], node->args[1]);
  }

  // Hashes of a node with all that it depends on.
  struct NodeStructure {
    std::string shape;  // equal for nodes that differ only in names and types
    std::string full;
  };

  const NodeStructure& Structure(NodeId id) {
    const auto it = structures_.find(id);
    if (it != structures_.end()) return it->second;
    const Node& node = At(id);
    std::string shape =
        fmt::format("{}:{}:{:a}:{}:{}(", OpName(node.op), node.type.axes.size(), node.value,
                    ReduceName(node.reduce), node.op == Op::kCall ? node.name : "");
    Node without_args = node;
    without_args.args.clear();
    std::string full = NodeKey(without_args);
    for (NodeId arg : node.args) {
      shape += Structure(arg).shape + ",";
      full += Structure(arg).full + ",";
    }
    return structures_[id] = {HashHex(shape), HashHex(full)};
  }

  GraphCopy copy_;
  std::map<NodeId, NodeStructure> structures_;
};

}  // namespace

Graph NormalForm(const Graph& graph) { return Normaliser(graph).Run(graph); }

}  // namespace tenon::ir
