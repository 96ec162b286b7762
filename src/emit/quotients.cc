#include "emit/quotients.h"

#include <optional>

#include "emit/keeps.h"
#include "emit/segments.h"

namespace tenon::emit {

using ir::Dim;
using ir::Graph;
using ir::Node;
using ir::Op;

namespace {

class Chooser {
 public:
  Chooser(const Graph& graph, std::vector<PlanTensor>& tensors, const Extents& extents)
      : graph_(graph), tensors_(tensors), extents_(extents) {}

  std::optional<Quotient> Of(const Store& store) {
    if (store.is_copy || store.values.size() != 1) return std::nullopt;
    ValueAt value = Unmoved(store.values[0]);
    const Node& cast = NodeOf(value);
    const bool rounds = cast.op == Op::kCast || cast.op == Op::kRound;
    const bool is_int8 = cast.type.elem == DType::kI8;
    if (!rounds || !(is_int8 || cast.type.elem == DType::kF8E4M3)) return std::nullopt;
    if (cast.cast != ir::CastRule{}) return std::nullopt;
    value = Argument(value, 0);
    Quotient quotient;
    if (NodeOf(value).op == Op::kAdd) {
      quotient.offset = FindTensor(Argument(value, 1));
      if (quotient.offset < 0 || !tensors_[quotient.offset].optional) return std::nullopt;
      value = Argument(value, 0);
      if (NodeOf(value).op != Op::kRoundInt) return std::nullopt;
    }
    if (NodeOf(value).op == Op::kRoundInt) value = Argument(value, 0);
    if (NodeOf(value).op != Op::kDiv) return std::nullopt;
    quotient.dividend = Argument(value, 0);
    quotient.divisor = Argument(value, 1);
    const bool lanes_are_neighbours = store.at.back() == Dim(kLaneVar);
    if (!quotient.dividend.DependsOnLane() || !lanes_are_neighbours) return std::nullopt;
    if (quotient.divisor.DependsOnLane() && !MayBeOne(quotient.divisor)) return std::nullopt;
    if (!is_int8) return std::nullopt;  // its conversion takes longer than the division
    return quotient;
  }

 private:
  // Notes that the value is an element of a parameter for which one number may stand.
  bool MayBeOne(const ValueAt& value) {
    const int param = FindTensor(value);
    if (param < 0) return false;
    PlanTensor& tensor = tensors_[param];
    tensor.may_be_one = tensor.role == cpu::RowRole::kParam && !tensor.optional &&
                        tensor.axes.size() == 1 && value.at[0] == Dim(kLaneVar);
    return tensor.may_be_one;
  }

  const Node& NodeOf(const ValueAt& value) const { return graph_.node(value.node); }

  ValueAt Unmoved(ValueAt value) const {
    while (IsMovement(NodeOf(value).op)) value = ArgsOf(graph_, value, extents_)[0];
    return value;
  }

  ValueAt Argument(const ValueAt& value, int number) const {
    return Unmoved(ArgsOf(graph_, value, extents_)[number]);
  }

  // The input that the value is an element of, or -1.
  int FindTensor(const ValueAt& value) const {
    const Node& node = NodeOf(value);
    for (size_t i = 0; node.op == Op::kInput && i < tensors_.size(); ++i) {
      if (!tensors_[i].is_output && tensors_[i].name == node.name) return static_cast<int>(i);
    }
    return -1;
  }

  const Graph& graph_;
  std::vector<PlanTensor>& tensors_;
  const Extents extents_;
};

}  // namespace

void ChooseQuotients(const Graph& graph, const Extents& extents, std::vector<PlanTensor>& tensors,
                     Nest& nest) {
  for (Loop& loop : nest.loops) {
    if (loop.extent == Dim(0) || !loop.reductions.empty() || !loop.keeps.empty()) continue;
    if (loop.stores.size() != 1) continue;
    loop.quotient = Chooser(graph, tensors, WithLane(extents, loop.extent)).Of(loop.stores[0]);
  }
}

}  // namespace tenon::emit
