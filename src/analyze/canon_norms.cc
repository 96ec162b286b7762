// Norms and gated activations that a model writes out in tensor operators.
#include <algorithm>
#include <set>

#include "analyze/canon.h"

namespace tenon::analyze {
namespace {

// The pieces of `x * rsqrt(mean(x^2) + eps)`, found from the rsqrt.
struct WrittenNorm {
  std::set<int> members;
  int last = -1;
  TensorUse input;
  std::vector<TensorUse> weights;
  bool centred = false;  // the mean is taken off first: a layer norm
  Attr eps;
};

class NormFinder {
 public:
  explicit NormFinder(const std::vector<TracedOp>& ops) : ops_(ops), flow_(ops) {}

  bool Find(int rsqrt, WrittenNorm* norm) {
    const int add = Before(rsqrt, 0);
    if (!Is(add, "add")) return false;
    const Attr* scalar = FindAttr(ops_[At(add)].op, "scalar");
    if (scalar != nullptr) norm->eps = *scalar;
    const int mean = Before(add, 0);
    if (!IsMean(mean)) return false;
    const int square = Before(mean, 0);
    if (!IsSquare(square)) return false;
    const int x = ops_[At(square)].op.in[0].id;
    const int scale = MultiplicationBy(x, ops_[At(rsqrt)].op.out[0].id);
    if (scale < 0) return false;
    norm->members = {rsqrt, add, mean, square, scale};
    norm->last = scale;
    TakeInput(square, norm);
    TakeTail(norm);
    return OnlyUsedInside(*norm);
  }

 private:
  static size_t At(int index) { return static_cast<size_t>(index); }
  bool Is(int index, std::string_view op) const {
    return index >= 0 && ops_[At(index)].op.op == op;
  }
  int Before(int index, size_t input) const { return flow_.ProducerOf(ops_[At(index)], input); }

  bool IsMean(int index) const {
    if (!Is(index, "reduce")) return false;
    const Op& op = ops_[At(index)].op;
    const Attr* kind = FindAttr(op, "kind");
    const Attr* axes = FindAttr(op, "axes");
    if (kind == nullptr || *kind != Attr("mean") || axes == nullptr) return false;
    const int last = static_cast<int>(op.in[0].shape.size()) - 1;
    return *axes == Attr(Attr::List{Attr(last)});
  }

  bool IsSquare(int index) const {
    if (Is(index, "square")) return true;
    if (Is(index, "pow")) {
      const Attr* power = FindAttr(ops_[At(index)].op, "scalar");
      return power != nullptr && (*power == Attr(2) || *power == Attr(2.0));
    }
    const bool product = Is(index, "mul") && ops_[At(index)].op.in.size() == 2;
    return product && ops_[At(index)].op.in[0].id == ops_[At(index)].op.in[1].id;
  }

  int MultiplicationBy(int x, int factor) const {
    for (const int consumer : flow_.Consumers(factor)) {
      const Op& op = ops_[At(consumer)].op;
      if (op.op != "mul" || op.in.size() != 2) continue;
      const bool left = op.in[0].id == x && op.in[1].id == factor;
      const bool right = op.in[1].id == x && op.in[0].id == factor;
      if (left || right) return consumer;
      // A layer norm may subtract the mean a second time for this factor.
      const int other = flow_.Producer(op.in[0].id == factor ? op.in[1].id : op.in[0].id);
      const int centred = flow_.Producer(x);
      const bool same = Is(other, "sub") && Is(centred, "sub") &&
                        ops_[At(other)].op.in[0].id == ops_[At(centred)].op.in[0].id;
      if (same) return consumer;
    }
    return -1;
  }

  // Follows the squared tensor back over a subtraction of its mean and a widening cast.
  void TakeInput(int square, WrittenNorm* norm) const {
    norm->input = ops_[At(square)].op.in[0];
    int source = flow_.Producer(norm->input.id);
    if (Is(source, "sub")) {
      const int mean = Before(source, 1);
      if (IsMean(mean) && ops_[At(mean)].op.in[0].id == ops_[At(source)].op.in[0].id) {
        norm->centred = true;
        norm->members.insert({source, mean});
        norm->input = ops_[At(source)].op.in[0];
        for (const int twin : flow_.Consumers(norm->input.id)) {
          if (Is(twin, "sub") && Before(twin, 1) == mean) norm->members.insert(twin);
        }
        source = flow_.Producer(norm->input.id);
      }
    }
    if (Is(source, "cast") && Inside(*norm, ops_[At(source)].op.out[0].id)) {
      norm->members.insert(source);
      norm->input = ops_[At(source)].op.in[0];
    }
  }

  // Weight, bias and the cast back follow, in any order.
  void TakeTail(WrittenNorm* norm) const {
    while (true) {
      const int next = flow_.OnlyConsumer(ops_[At(norm->last)]);
      if (next < 0) return;
      const Op& op = ops_[At(next)].op;
      const bool cast = op.op == "cast";
      const bool scaled = (op.op == "mul" || op.op == "add") && op.in.size() == 2 &&
                          (op.in[0].param || op.in[1].param);
      if (!cast && !scaled) return;
      if (op.op == "add" && !norm->centred) return;
      if (scaled) norm->weights.push_back(op.in[0].param ? op.in[0] : op.in[1]);
      norm->members.insert(next);
      norm->last = next;
    }
  }

  bool Inside(const WrittenNorm& norm, int id) const {
    const std::vector<int>& consumers = flow_.Consumers(id);
    return std::all_of(consumers.begin(), consumers.end(),
                       [&](int consumer) { return norm.members.contains(consumer); });
  }

  bool OnlyUsedInside(const WrittenNorm& norm) const {
    return std::all_of(norm.members.begin(), norm.members.end(), [&](int member) {
      return member == norm.last || Inside(norm, ops_[At(member)].op.out[0].id);
    });
  }

  const std::vector<TracedOp>& ops_;
  DataFlow flow_;
};

void Replace(std::vector<TracedOp>* ops, const std::set<int>& members, int last, TracedOp merged) {
  std::vector<TracedOp> kept;
  for (size_t i = 0; i < ops->size(); ++i) {
    const int at = static_cast<int>(i);
    if (at == last) kept.push_back(merged);
    if (!members.contains(at)) kept.push_back(std::move((*ops)[i]));
  }
  *ops = std::move(kept);
}

bool ReplaceOneNorm(std::vector<TracedOp>* ops) {
  for (size_t i = 0; i < ops->size(); ++i) {
    if ((*ops)[i].op.op != "rsqrt") continue;
    WrittenNorm norm;
    if (!NormFinder(*ops).Find(static_cast<int>(i), &norm)) continue;
    const TracedOp& first = (*ops)[static_cast<size_t>(*norm.members.begin())];
    TracedOp merged = first;
    Op& op = merged.op;
    op.op = norm.centred ? "layer_norm" : "rms_norm";
    const Attr* compiled = FindAttr(first.op, "compiled_function");
    const Attr function = compiled == nullptr ? Attr() : *compiled;
    op.attrs = {{"eps", norm.eps}, {"written_out", true}};
    if (norm.centred) {
      op.attrs.emplace_back("bias", norm.weights.size() > 1);
    } else {
      op.attrs.emplace_back("has_weight", !norm.weights.empty());
      op.attrs.emplace_back("weight_offset", 0.0);
    }
    if (compiled != nullptr) op.attrs.emplace_back("compiled_function", function);
    op.in = {norm.input};
    op.in.insert(op.in.end(), norm.weights.begin(), norm.weights.end());
    op.out = {(*ops)[static_cast<size_t>(norm.last)].op.out[0]};
    op.aux = false;
    Replace(ops, norm.members, norm.last, std::move(merged));
    return true;
  }
  return false;
}

// silu(a) * b where a and b are the two halves of one tensor.
bool ReplaceOneActivation(std::vector<TracedOp>* ops) {
  const DataFlow flow(*ops);
  for (size_t i = 0; i < ops->size(); ++i) {
    const Op& mul = (*ops)[i].op;
    if (mul.op != "mul" || mul.in.size() != 2) continue;
    for (const size_t side : {size_t{0}, size_t{1}}) {
      const int act = flow.Producer(mul.in[side].id);
      if (act < 0) continue;
      const Op& activation = (*ops)[static_cast<size_t>(act)].op;
      const bool known = activation.op == "silu" || activation.op == "gelu";
      if (!known || flow.Consumers(activation.out[0].id).size() != 1) continue;
      const int split = flow.Producer(activation.in[0].id);
      if (split < 0 || split != flow.Producer(mul.in[1 - side].id)) continue;
      const Op& halves = (*ops)[static_cast<size_t>(split)].op;
      const bool two = halves.op == "split" && halves.out.size() == 2 &&
                       halves.out[0].id == activation.in[0].id &&
                       halves.out[0].shape == halves.out[1].shape;
      if (!two || flow.Consumers(halves.out[0].id).size() != 1 ||
          flow.Consumers(halves.out[1].id).size() != 1) {
        continue;
      }
      TracedOp merged = (*ops)[i];
      merged.op.op = activation.op + "_and_mul";
      merged.op.in = halves.in;
      merged.op.attrs = activation.attrs;
      merged.op.attrs.emplace_back("written_out", true);
      Replace(ops, {split, act, static_cast<int>(i)}, static_cast<int>(i), std::move(merged));
      return true;
    }
  }
  return false;
}

}  // namespace

void RecogniseNorms(std::vector<TracedOp>* ops) {
  while (ReplaceOneNorm(ops)) {
  }
}

void RecogniseActivations(std::vector<TracedOp>* ops) {
  while (ReplaceOneActivation(ops)) {
  }
}

}  // namespace tenon::analyze
