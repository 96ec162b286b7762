#include "ir/infer.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "ir/op_table.h"

namespace tenon::ir {
namespace {

const Elem kF32(DType::kF32);
const Elem kBool(DType::kBool);
const Elem kI32(DType::kI32);
const Elem kI64(DType::kI64);

// The types of a node's arguments, with the checks that many ops share.
class Args {
 public:
  Args(const Graph& graph, const Node& node) : node_(node) {
    for (NodeId id : node.args) types_.push_back(&graph.node(id).type);
  }

  const Type& operator[](size_t i) const { return *types_[i]; }
  size_t size() const { return types_.size(); }

  void Count(size_t expected) const {
    TENON_CHECK(types_.size() == expected, "{}: takes {} arguments, got {}", OpName(node_.op),
                expected, types_.size());
  }

  bool AnyFloat() const {
    return std::any_of(types_.begin(), types_.end(),
                       [](const Type* t) { return t->elem.is_float(); });
  }

  // Axes of the result of an element-wise op: those of the widest argument; every other argument
  // has a subset of them in the same order.
  std::vector<Axis> BroadcastAxes() const {
    const Type* widest = *std::max_element(
        types_.begin(), types_.end(),
        [](const Type* a, const Type* b) { return a->axes.size() < b->axes.size(); });
    for (const Type* type : types_) {
      int last = -1;
      for (const Axis& axis : type->axes) {
        const int position = widest->FindAxis(axis.name);
        TENON_CHECK(position > last && widest->axes[position] == axis,
                    "{}: {} does not broadcast to {}", OpName(node_.op), TypeText(*type),
                    TypeText(*widest));
        last = position;
      }
    }
    return widest->axes;
  }

  // Axis `node.dim` of argument i.
  const Axis& DimOf(size_t i) const {
    TENON_CHECK(node_.dim >= 0 && node_.dim < static_cast<int>((*this)[i].axes.size()),
                "{}: {} has no axis number {}", OpName(node_.op), TypeText((*this)[i]), node_.dim);
    return (*this)[i].axes[node_.dim];
  }

 private:
  const Node& node_;
  std::vector<const Type*> types_;
};

// Integers keep to the widest of the arguments' types: i32 (bool and i8, too), I, i64.
Elem WidestInteger(const Args& args) {
  int width = 0;
  for (size_t i = 0; i < args.size(); ++i) {
    const Elem& elem = args[i].elem;
    width = std::max(width, elem.kind == Elem::Kind::kIndex ? 1 : elem == kI64 ? 2 : 0);
  }
  return width == 2 ? kI64 : width == 1 ? Elem::Index() : kI32;
}

// Float when an argument is.
Type Arithmetic(const Args& args, size_t count) {
  args.Count(count);
  return {args.AnyFloat() ? kF32 : WidestInteger(args), args.BroadcastAxes()};
}

Type FloatArithmetic(const Args& args, size_t count) {
  args.Count(count);
  return {kF32, args.BroadcastAxes()};
}

Type IntegerArithmetic(const Node& node, const Args& args) {
  args.Count(2);
  TENON_CHECK(!args.AnyFloat(), "{}: takes integers, got {} and {}", OpName(node.op),
              TypeText(args[0]), TypeText(args[1]));
  return {WidestInteger(args), args.BroadcastAxes()};
}

Type LogicType(const Node& node, const Args& args, size_t count) {
  args.Count(count);
  for (size_t i = 0; i < count; ++i) {
    TENON_CHECK(args[i].elem == kBool, "{}: takes bool, got {}", OpName(node.op),
                TypeText(args[i]));
  }
  return {kBool, args.BroadcastAxes()};
}

// Bits are those of one type.
Type BitsType(const Node& node, const Args& args, const Elem& from, const Elem& to) {
  args.Count(1);
  TENON_CHECK(args[0].elem == from, "{}: takes {}, got {}", OpName(node.op), ElemText(from),
              TypeText(args[0]));
  return {to, args[0].axes};
}

Type SelectType(const Args& args) {
  args.Count(3);
  TENON_CHECK(args[0].elem == kBool, "select: the condition must be bool, got {}",
              TypeText(args[0]));
  const Elem elem = args[1].elem == args[2].elem ? args[1].elem : kF32;
  return {elem, args.BroadcastAxes()};
}

Type ReduceType(const Node& node, const Args& args) {
  args.Count(1);
  Type type = args[0];
  const int position = type.FindAxis(node.axis);
  TENON_CHECK(position >= 0, "reduce: {} has no axis {}", TypeText(type), node.axis);
  type.axes.erase(type.axes.begin() + position);
  type.elem = node.reduce == ReduceKind::kArgmax ? kI64 : kF32;
  return type;
}

// Types that declare their own axes: `declared` must agree with the argument elsewhere than at dim.
Type SliceType(const Node& node, const Args& args) {
  args.Count(1);
  const Axis& whole = args.DimOf(0);
  Type type = args[0];
  TENON_CHECK(node.type.axes.size() == type.axes.size(),
              "slice: the result of {} must have {} axes", TypeText(type), type.axes.size());
  type.axes[node.dim] = node.type.axes[node.dim];
  const auto size = type.axes[node.dim].size.constant();
  const auto offset = node.offset.constant();
  const auto extent = whole.size.constant();
  TENON_CHECK(!size || !offset || !extent || (*offset >= 0 && *offset + *size <= *extent),
              "slice: elements [{}, {} + {}) do not lie within axis {} of size {}",
              node.offset.text(), node.offset.text(), type.axes[node.dim].size.text(), whole.name,
              whole.size.text());
  return type;
}

Type ConcatType(const Node& node, const Args& args) {
  TENON_CHECK(args.size() >= 1, "concat: takes at least one argument");
  Dim size(0);
  for (size_t i = 0; i < args.size(); ++i) size = size + args.DimOf(i).size;
  Type type = args[0];
  bool same_elem = true;
  for (size_t i = 1; i < args.size(); ++i) {
    same_elem = same_elem && args[i].elem == type.elem;
    TENON_CHECK(args[i].axes.size() == type.axes.size(), "concat: {} and {} differ in rank",
                TypeText(type), TypeText(args[i]));
    for (size_t k = 0; k < type.axes.size(); ++k) {
      TENON_CHECK(static_cast<int>(k) == node.dim || args[i].axes[k] == type.axes[k],
                  "concat: {} and {} differ elsewhere than at axis number {}", TypeText(type),
                  TypeText(args[i]), node.dim);
    }
  }
  TENON_CHECK(node.type.axes.size() == type.axes.size(), "concat: the result must have {} axes",
              type.axes.size());
  if (!same_elem) type.elem = kF32;
  type.axes[node.dim] = {node.type.axes[node.dim].name, size};
  return type;
}

Type ReshapeType(const Node& node, const Args& args) {
  args.Count(1);
  const Type type{args[0].elem, node.type.axes};
  TENON_CHECK(type.numel() == args[0].numel(), "reshape: {} has {} elements, {} has {}",
              TypeText(args[0]), args[0].numel().text(), TypeText(type), type.numel().text());
  return type;
}

Type TransposeType(const Node& node, const Args& args) {
  args.Count(1);
  const Type type{args[0].elem, node.type.axes};
  bool permutes = type.axes.size() == args[0].axes.size();
  for (const Axis& axis : type.axes) {
    const int position = args[0].FindAxis(axis.name);
    permutes = permutes && position >= 0 && args[0].axes[position] == axis;
  }
  TENON_CHECK(permutes, "transpose: {} is not a reordering of {}", TypeText(type),
              TypeText(args[0]));
  return type;
}

Type BroadcastType(const Node& node, const Args& args) {
  args.Count(1);
  const Type type{args[0].elem, node.type.axes};
  int last = -1;
  for (const Axis& axis : args[0].axes) {
    const int position = type.FindAxis(axis.name);
    TENON_CHECK(position > last && type.axes[position] == axis, "broadcast: {} does not fit {}",
                TypeText(args[0]), TypeText(type));
    last = position;
  }
  return type;
}

void CheckIndex(const Node& node, const Type& index) {
  TENON_CHECK(!index.elem.is_float(), "{}: the index must be an integer, got {}", OpName(node.op),
              TypeText(index));
}

Type GatherType(const Node& node, const Args& args) {
  args.Count(2);
  CheckIndex(node, args[1]);
  TENON_CHECK(!args[0].axes.empty(), "gather_row: the table must have rows");
  Type type = args[1];
  type.elem = args[0].elem;
  type.axes.insert(type.axes.end(), args[0].axes.begin() + 1, args[0].axes.end());
  return type;
}

Type ScatterType(const Node& node, const Args& args) {
  args.Count(3);
  CheckIndex(node, args[1]);
  std::vector<Axis> expected = args[1].axes;
  TENON_CHECK(!args[0].axes.empty(), "scatter_row: the target must have rows");
  expected.insert(expected.end(), args[0].axes.begin() + 1, args[0].axes.end());
  TENON_CHECK(args[2] == (Type{args[0].elem, expected}),
              "scatter_row: the value must be {}, got {}", TypeText({args[0].elem, expected}),
              TypeText(args[2]));
  return args[0];
}

Type WriteSliceType(const Node& node, const Args& args) {
  args.Count(2);
  Type expected = args[0];
  args.DimOf(0);
  TENON_CHECK(args[1].axes.size() == expected.axes.size(), "write_slice: {} and {} differ in rank",
              TypeText(args[0]), TypeText(args[1]));
  const auto dim = static_cast<size_t>(node.dim);
  expected.axes[dim] = args[1].axes[dim];
  TENON_CHECK(args[1] == expected, "write_slice: the value must be {}, got {}", TypeText(expected),
              TypeText(args[1]));
  const auto rest = (args[0].axes[dim].size - expected.axes[dim].size - node.offset).constant();
  TENON_CHECK(rest.value_or(0) >= 0 && node.offset.constant().value_or(0) >= 0,
              "write_slice: {} elements at {} do not lie within axis {} of {}",
              expected.axes[dim].size.text(), node.offset.text(), args[0].axes[dim].name,
              TypeText(args[0]));
  return args[0];
}

Type MatmulType(const Node& node, const Args& args) {
  args.Count(2);
  std::vector<Axis> axes;
  for (size_t i = 0; i < 2; ++i) {
    const int position = args[i].FindAxis(node.axis);
    TENON_CHECK(position >= 0, "matmul: {} has no axis {}", TypeText(args[i]), node.axis);
    for (const Axis& axis : args[i].axes) {
      const bool known =
          std::any_of(axes.begin(), axes.end(), [&](const Axis& a) { return a.name == axis.name; });
      if (axis.name != node.axis && !known) axes.push_back(axis);
    }
  }
  const Axis& k0 = args[0].axes[args[0].FindAxis(node.axis)];
  const Axis& k1 = args[1].axes[args[1].FindAxis(node.axis)];
  TENON_CHECK(k0 == k1, "matmul: axis {} has size {} on the left and {} on the right", node.axis,
              k0.size.text(), k1.size.text());
  return {kF32, axes};
}

Type ResultType(const Graph& graph, const Node& node) {
  TENON_CHECK(node.args.size() == 1, "result: takes one argument");
  const Node& call = graph.node(node.args[0]);
  TENON_CHECK(node.dim >= 0 && node.dim < static_cast<int>(call.results.size()),
              "result: {} has {} results, no number {}", call.name, call.results.size(), node.dim);
  return call.results[node.dim];
}

void CheckAxisNames(const Node& node, const Type& type) {
  std::set<std::string> names;
  for (const Axis& axis : type.axes) {
    TENON_CHECK(names.insert(axis.name).second, "{}: axis {} appears twice in {}", OpName(node.op),
                axis.name, TypeText(type));
  }
}

Type InferElementwise(const Node& node, const Args& args) {
  switch (node.op) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kMin:
    case Op::kMax:
      return Arithmetic(args, 2);
    case Op::kNeg:
    case Op::kAbs:
      return Arithmetic(args, 1);
    case Op::kDiv:
      return FloatArithmetic(args, 2);
    case Op::kFma:
      return FloatArithmetic(args, 3);
    case Op::kLt:
    case Op::kLe:
    case Op::kEq:
    case Op::kNe:
      args.Count(2);
      return {kBool, args.BroadcastAxes()};
    case Op::kAnd:
    case Op::kOr:
      return LogicType(node, args, 2);
    case Op::kNot:
      return LogicType(node, args, 1);
    case Op::kSelect:
      return SelectType(args);
    case Op::kIntDiv:
    case Op::kIntMod:
    case Op::kBitAnd:
    case Op::kBitOr:
    case Op::kShiftLeft:
    case Op::kShiftRight:
      return IntegerArithmetic(node, args);
    case Op::kBitsOf:
      return BitsType(node, args, kF32, kI32);
    case Op::kFromBits:
      return BitsType(node, args, kI32, kF32);
    default:  // functions of one float
      return FloatArithmetic(args, 1);
  }
}

Type LimitRowsType(const Node& node, const Args& args) {
  args.Count(2);
  args.DimOf(0);
  CheckIndex(node, args[1]);
  return args[0];
}

Type InferMovement(const Node& node, const Args& args) {
  switch (node.op) {
    case Op::kBroadcast:
      return BroadcastType(node, args);
    case Op::kSlice:
      return SliceType(node, args);
    case Op::kConcat:
      return ConcatType(node, args);
    case Op::kReshape:
      return ReshapeType(node, args);
    case Op::kTranspose:
      return TransposeType(node, args);
    case Op::kCopy:
      args.Count(1);
      return args[0];
    case Op::kWriteSlice:
      return WriteSliceType(node, args);
    case Op::kLimitRows:
      return LimitRowsType(node, args);
    default:
      throw InternalError(__FILE__, __LINE__, "not a movement");
  }
}

Type InferStructure(const Graph& graph, const Node& node) {
  if (node.op == Op::kResult) return ResultType(graph, node);
  return node.results.empty() ? node.type : node.results[0];
}

Type Infer(const Graph& graph, const Node& node) {
  const Args args(graph, node);
  switch (RowOf(node.op).op_class) {
    case OpClass::kLeaf:
      args.Count(0);
      return node.op == Op::kPresent ? Type{kBool, {}} : node.type;
    case OpClass::kElementwise:
      return InferElementwise(node, args);
    case OpClass::kPrecision:
      args.Count(1);
      return {node.type.elem, args[0].axes};
    case OpClass::kReduction:
      return ReduceType(node, args);
    case OpClass::kMovement:
      return InferMovement(node, args);
    case OpClass::kRows:
      return node.op == Op::kGatherRow ? GatherType(node, args) : ScatterType(node, args);
    case OpClass::kProduct:
      return MatmulType(node, args);
    case OpClass::kStructure:
      return InferStructure(graph, node);
  }
  throw InternalError(__FILE__, __LINE__, "unknown class of ops");
}

}  // namespace

Type InferType(const Graph& graph, const Node& node) {
  Type type = Infer(graph, node);
  CheckAxisNames(node, type);
  return type;
}

}  // namespace tenon::ir
