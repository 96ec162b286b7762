#include "random_graph.h"

#include <algorithm>

#include "ir/builder.h"
#include "ir/op_table.h"

namespace tenon::ir {
namespace {

const Axis kRows = NamedAxis("rows");
const Axis kCols = {"cols", "2*half"};

class Generator {
 public:
  Generator(uint32_t seed, bool spans) : random_(seed), spans_(spans), builder_("random") {
    Keep(builder_.Input("x", Elem::Storage(), {kRows, kCols}));
    Keep(builder_.Input("residual", DType::kBF16, {kRows, kCols}));
    Keep(builder_.OptionalInput("weight", Elem::Param(), {kCols}, 1.0));
    Keep(builder_.OptionalInput("bias", DType::kF32, {kCols}, -0.0));
    Keep(builder_.Input("slots", Elem::Index(), {kRows}));
    Keep(builder_.Input("flags", DType::kBool, {kRows}));
    Keep(builder_.Input("codes", DType::kI8, {kRows, kCols}));
    Keep(builder_.Attr("eps"));
    Keep(builder_.Attr("count", DType::kI64));
    Keep(builder_.Present("bias"));
    Keep(builder_.Iota(kCols));
    for (double c : {1.0, 0.5, -1.0, 3.25, -0.0, 0.1}) Keep(builder_.Const(c));
    Keep(builder_.Const(7, DType::kI32));
  }

  Graph Make(int num_nodes) {
    while (static_cast<int>(values_.size()) < num_nodes) Step();
    for (int i = 0; i < 4; ++i) {
      const Value value = values_[values_.size() - 1 - static_cast<size_t>(i)];
      builder_.Output(fmt::format("y{}", i), value);
    }
    return builder_.Take();
  }

 private:
  int Below(size_t n) { return static_cast<int>(random_() % n); }
  Value Any() { return values_[static_cast<size_t>(Below(values_.size()))]; }
  Value Recent() {
    const size_t window = std::min<size_t>(values_.size(), 8);
    return values_[values_.size() - 1 - static_cast<size_t>(Below(window))];
  }
  void Keep(Value value) {
    if (value.type().axes.size() <= 3) values_.push_back(value);
  }

  void Step() {
    if (spans_ && Below(3) == 0) builder_.SetSpan({"dir/model \"x\".py", Below(99), "A.forward"});
    const Op op = static_cast<Op>(Below(kNumOps));
    try {
      Keep(Below(2) == 0 ? Try(op, Recent()) : Try(op, Any()));
    } catch (const UsageError&) {
      // These arguments do not fit this op; another draw.
    }
  }

  Node Drawn(Op op, Value first) {
    Node node;
    node.op = op;
    node.args = {first.id()};
    for (int i = 1; i < RowOf(op).num_args; ++i) node.args.push_back(Any().id());
    if (RowOf(op).fields & kFieldPropagateNan) node.propagate_nan = Below(2) == 0;
    return node;
  }

  Value Try(Op op, Value first) {
    const std::vector<Axis>& axes = first.type().axes;
    const OpClass op_class = RowOf(op).op_class;
    Node node = Drawn(op, first);
    if (op_class == OpClass::kElementwise) {
      if (op == Op::kSelect) node.args[0] = Flag().id();
      if (op == Op::kAnd || op == Op::kOr || op == Op::kNot) {
        for (NodeId& arg : node.args) arg = Flag().id();
      }
      const bool constant = std::all_of(node.args.begin(), node.args.end(), [&](NodeId id) {
        return builder_.graph().node(id).op == Op::kConst;
      });
      return constant ? first : builder_.Add(std::move(node));
    }
    if (op_class == OpClass::kPrecision) return Precision(std::move(node));
    if (axes.empty()) return Broadcast(first, {kRows});
    const auto dim = static_cast<size_t>(Below(axes.size()));
    switch (op) {
      case Op::kReduce:
        return Reduced(static_cast<ReduceKind>(Below(6)), first, axes[dim].name);
      case Op::kBroadcast:
        return Broadcast(first, {kRows, kCols});
      case Op::kSlice:
        return axes[dim].name == "cols"
                   ? Slice(first, "cols", Below(2) == 0 ? "half" : "0", {"cols", "half"})
                   : Slice(first, axes[dim].name, 0, {axes[dim].name, 1});
      case Op::kConcat:
        return Concat({first, first}, static_cast<int>(dim), axes[dim].name);
      case Op::kReshape:
        return MergeAxes(first, axes[0].name, axes.back().name, "flat");
      case Op::kTranspose:
        return Transpose(first, {axes.back().name, axes[0].name});
      case Op::kCopy:
        return Copy(first);
      case Op::kGatherRow:
        return GatherRow(first, builder_.Iota({"picked", 3}),
                         Below(2) == 0 ? IndexRule::kClamp : IndexRule::kZero);
      case Op::kScatterRow:
        return ScatterRow(first, builder_.Iota(axes[0]), first, IndexRule::kSkip);
      case Op::kWriteSlice:
        return WriteSlice(first, Slice(first, axes[dim].name, 0, {axes[dim].name, 1}),
                          static_cast<int>(dim), 0);
      case Op::kLimitRows:
        return LimitRows(first, values_[8], static_cast<int>(dim));
      case Op::kMatmul:
        return Matmul(first, Any(), axes[dim].name);
      default:
        return builder_.Const(Below(5) * 0.25);
    }
  }

  Value Reduced(ReduceKind kind, Value a, const std::string& axis) {
    const bool sums = kind == ReduceKind::kSum || kind == ReduceKind::kMean;
    return Reduce(kind, a, axis, sums || Below(2) == 0);
  }

  Value Flag() {
    for (int i = 0; i < 20; ++i) {
      if (const Value v = Any(); v.type().elem == Elem(DType::kBool)) return v;
    }
    return values_[5];
  }

  Value Precision(Node node) {
    const Elem targets[] = {DType::kF32,    DType::kBF16, DType::kF16,    DType::kI8,
                            DType::kF8E4M3, DType::kI32,  Elem::Storage()};
    node.type.elem = targets[Below(std::size(targets))];
    const Elem& from = builder_.graph().node(node.args[0]).type.elem;
    if (from == node.type.elem) node.type.elem = DType::kBF16;
    if (node.op == Op::kCast && Below(2) == 0) {
      node.cast.rounding = static_cast<Rounding>(Below(3));
      node.cast.nan_to_zero = Below(2) == 0;
    }
    return builder_.Add(std::move(node));
  }

  std::mt19937 random_;
  bool spans_;
  Builder builder_;
  std::vector<Value> values_;
};

}  // namespace

RandomGraph MakeRandomGraph(uint32_t seed, int num_nodes, bool spans) {
  RandomGraph random;
  random.graph = Generator(seed, spans).Make(num_nodes);
  random.sizes = {{"rows", 3}, {"half", 2}};
  random.attributes = {{"eps", 1e-3}, {"count", int64_t{2}}};
  return random;
}

}  // namespace tenon::ir
