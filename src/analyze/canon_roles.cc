// What a projection is for, read from the data flow around attention, activations and top-k; and
// the pair of norms on q and k.
#include <algorithm>

#include "analyze/canon.h"

namespace tenon::analyze {
namespace {

bool IsLinear(const Op& op) {
  return op.op == "linear" || op.op == "qkv_proj" || op.op == "router_gate";
}

bool IsGatedActivation(const Op& op) { return op.op.ends_with("_and_mul"); }

bool IsPlainActivation(const Op& op) {
  static constexpr std::string_view kNames[] = {"silu", "gelu", "relu",       "relu2",
                                                "tanh", "mish", "quick_gelu", "xielu"};
  return std::find(std::begin(kNames), std::end(kNames), op.op) != std::end(kNames);
}

// Operators that a projection's result passes through on its way to attention.
bool IsTransparent(const Op& op) {
  static constexpr std::string_view kNames[] = {
      "split", "rotary_embedding", "rms_norm", "layer_norm", "l2_norm",   "cast", "copy", "mul",
      "add",   "concat",           "clamp",    "quantize",   "all_gather"};
  return std::find(std::begin(kNames), std::end(kNames), op.op) != std::end(kNames);
}

class Roles {
 public:
  Roles(std::vector<TracedOp>* ops, const CanonContext& context)
      : ops_(*ops), flow_(*ops), context_(context) {}

  void Name() {
    for (size_t i = 0; i < ops_.size(); ++i) {
      const std::string op = ops_[i].op.op;
      if (op == "attention") Attention(i);
      if (IsGatedActivation(ops_[i].op)) GatedActivation(i);
      if (IsPlainActivation(ops_[i].op)) PlainActivation(i);
      if (op == "topk") Set(Upstream(ops_[i].op.in[0].id), "router_gate");
      if (op == "sigmoid") SigmoidGate(i);
    }
    NameParts();
    for (TracedOp& traced : ops_) {
      RemoveLayerInternals(&traced.op);
      NameNormWidth(&traced.op);
    }
  }

 private:
  Op& At(int index) { return ops_[static_cast<size_t>(index)].op; }

  void Set(int index, const std::string& role) {
    if (index >= 0 && At(index).op == "linear") At(index).op = role;
  }

  // The linear that a tensor comes from, through operators that keep its meaning.
  int Upstream(int id) {
    for (int steps = 0; steps < 32; ++steps) {
      const int producer = flow_.Producer(id);
      if (producer < 0) return -1;
      const Op& op = At(producer);
      if (IsLinear(op)) return producer;
      if (!IsTransparent(op)) return -1;
      // rotary_embedding(positions, q, k): the k-th result comes from the k-th tensor behind.
      size_t input = 0;
      if (op.op == "rotary_embedding") {
        for (size_t k = 0; k < op.out.size(); ++k) {
          if (op.out[k].id == id) input = k + 1;
        }
      }
      while (input < op.in.size() && op.in[input].param) ++input;
      if (input >= op.in.size()) return -1;
      id = op.in[input].id;
    }
    return -1;
  }

  // The linear that consumes a tensor, through operators that keep its meaning.
  int Downstream(int id) {
    for (int steps = 0; steps < 8; ++steps) {
      int next = -1;
      for (const int consumer : flow_.Consumers(id)) {
        if (IsLinear(At(consumer))) return consumer;
        if (next < 0 && (IsTransparent(At(consumer)) || At(consumer).op == "all_reduce")) {
          next = consumer;
        }
      }
      if (next < 0 || At(next).out.empty()) return -1;
      id = At(next).out[0].id;
    }
    return -1;
  }

  void Attention(size_t index) {
    const Op attention = ops_[index].op;
    int from[3] = {-1, -1, -1};
    for (size_t i = 0; i < 3 && i < attention.in.size(); ++i)
      from[i] = Upstream(attention.in[i].id);
    if (from[0] >= 0 && from[0] == from[1] && from[1] == from[2]) {
      Set(from[0], "qkv_proj");
    } else {
      Set(from[0], "q_proj");
      if (from[1] >= 0 && from[1] == from[2]) {
        Set(from[1], "kv_proj");
      } else {
        Set(from[1], "k_proj");
        Set(from[2], "v_proj");
      }
    }
    if (!attention.out.empty()) Set(Downstream(attention.out[0].id), "o_proj");
  }

  void GatedActivation(size_t index) {
    const Op activation = ops_[index].op;
    Set(Upstream(activation.in[0].id), "gate_up_proj");
    Set(Downstream(activation.out[0].id), "down_proj");
  }

  // act(gate) * up, or act(up) alone.
  void PlainActivation(size_t index) {
    const Op activation = ops_[index].op;
    const int gate = flow_.Producer(activation.in[0].id);
    if (gate < 0 || !IsLinear(At(gate))) return;
    for (const int consumer : flow_.Consumers(activation.out[0].id)) {
      const Op& mul = At(consumer);
      if (mul.op == "mul" && mul.in.size() == 2) {
        const bool left = mul.in[0].id == activation.out[0].id;
        const int up = flow_.Producer(mul.in[left ? 1 : 0].id);
        if (up >= 0 && At(up).op == "linear") {
          const int product = mul.out[0].id;
          Set(gate, "gate_proj");
          Set(up, "up_proj");
          Set(Downstream(product), "down_proj");
          return;
        }
      }
    }
    Set(gate, "up_proj");
    Set(Downstream(activation.out[0].id), "down_proj");
  }

  void SigmoidGate(size_t index) {
    const int gate = flow_.Producer(ops_[index].op.in[0].id);
    if (gate < 0 || At(gate).op != "linear") return;
    const Shape& width = At(gate).out[0].shape;
    if (!width.empty() && width.back() == Dim(1)) Set(gate, "shared_expert_gate");
  }

  // The three parts of a packed projection give their axes the names q, k and v, here and in what
  // norms and rotations make of them.
  void NameParts() {
    std::map<int, std::string> names;
    for (TracedOp& traced : ops_) {
      Op& op = traced.op;
      const int source = flow_.ProducerOf(traced, 0);
      const bool parts = op.op == "split" && op.out.size() == 3 && source >= 0 &&
                         At(source).op == "qkv_proj" && !op.in[0].axes.empty();
      if (parts) {
        const bool sharded = op.in[0].axes.back().ends_with("/tp");
        constexpr std::string_view kParts[] = {"q", "k", "v"};
        for (size_t i = 0; i < 3; ++i) {
          names[op.out[i].id] = std::string(kParts[i]) + (sharded ? "/tp" : "");
          packed_ = op.in[0].axes.back();
        }
      }
      for (TensorUse& use : op.in) Rename(names, &use);
      const bool keeps = op.op == "rotary_embedding" || op.op == "rms_norm" || op.op == "cast" ||
                         op.op == "layer_norm";
      const size_t first = op.op == "rotary_embedding" ? 1 : 0;
      for (size_t i = 0; keeps && i < op.out.size() && first + i < op.in.size(); ++i) {
        const auto known = names.find(op.in[first + i].id);
        if (known != names.end()) names[op.out[i].id] = known->second;
      }
      for (TensorUse& use : op.out) Rename(names, &use);
    }
  }

  void Rename(const std::map<int, std::string>& names, TensorUse* use) const {
    const auto known = names.find(use->id);
    if (known == names.end() || use->axes.empty() || use->axes.back() != packed_) return;
    use->axes.back() = known->second;
  }

  static void RemoveLayerInternals(Op* op) {
    if (!op->name) return;
    const std::string last = op->name->substr(op->name->rfind('.') + 1);
    const bool projection = op->op.ends_with("_proj") || op->op == "linear" ||
                            op->op == "router_gate" || op->op == "shared_expert_gate";
    if (projection) SetAttr(op, "name", last);
  }

  void NameNormWidth(Op* op) {
    const bool norm =
        op->op == "rms_norm" || op->op == "fused_add_rms_norm" || op->op == "layer_norm";
    if (!norm || op->in.empty() || op->in[0].shape.empty()) return;
    const Dim& width = op->in[0].shape.back();
    const auto number = width.constant();
    if (!number) return;
    const bool hidden = width == Dim(context_.hidden_size);
    SetAttr(op, "width", hidden ? Attr("hidden") : Attr(*number));
  }

  std::vector<TracedOp>& ops_;
  DataFlow flow_;
  const CanonContext& context_;
  std::string packed_;  // name of the packed projection's last axis
};

// A norm on the way from a projection to q or k of attention.
struct SideNorm {
  int norm = -1;
  int projection = -1;
  bool after_rope = false;
};

SideNorm FindSideNorm(const std::vector<TracedOp>& ops, const DataFlow& flow, int id) {
  SideNorm side;
  for (int steps = 0; steps < 32; ++steps) {
    const int producer = flow.Producer(id);
    if (producer < 0) break;
    const Op& op = ops[static_cast<size_t>(producer)].op;
    if (op.op.ends_with("_proj")) {
      side.projection = producer;
      break;
    }
    size_t input = 0;
    if (op.op == "rotary_embedding") {
      if (side.norm >= 0) side.after_rope = true;
      for (size_t k = 0; k < op.out.size(); ++k) {
        if (op.out[k].id == id) input = k + 1;
      }
    } else if (op.op == "rms_norm" || op.op == "layer_norm") {
      if (side.norm >= 0) break;
      side.norm = producer;
    } else if (!IsTransparent(op)) {
      break;
    }
    while (input < op.in.size() && op.in[input].param) ++input;
    if (input >= op.in.size()) break;
    id = op.in[input].id;
  }
  return side;
}

TracedOp MergedNorm(const TracedOp& q, const TracedOp& k, const Attr* head_dim, bool after_rope,
                    int tp) {
  TracedOp merged = q;
  Op& op = merged.op;
  // A size that is not known is that of no head.
  const Dim width = q.op.in[0].shape.empty() ? Dim(0) : q.op.in[0].shape.back();
  const auto* head = head_dim == nullptr ? nullptr : std::get_if<int64_t>(&head_dim->value);
  // A norm over [heads, head_dim] with one statistic per head is per head, whatever its weight.
  const bool per_head = head != nullptr && width == Dim(*head);
  op.op = "qk_norm";
  op.attrs.clear();
  op.attrs.emplace_back("span", per_head ? "head" : "full");
  const Attr* has_weight = FindAttr(q.op, "has_weight");
  op.attrs.emplace_back("has_weight", has_weight == nullptr ? Attr(true) : *has_weight);
  const Attr* offset = FindAttr(q.op, "weight_offset");
  op.attrs.emplace_back("weight_offset", offset == nullptr ? Attr(0.0) : *offset);
  op.attrs.emplace_back("tp_reduction", !per_head && tp > 1);
  op.attrs.emplace_back("order", after_rope ? "after_rope" : "before_rope");
  if (const Attr* eps = FindAttr(q.op, "eps")) op.attrs.emplace_back("eps", *eps);
  if (q.op.op == "layer_norm") op.attrs.emplace_back("kind", "layer_norm");
  if (FindAttr(q.op, "written_out") != nullptr) op.attrs.emplace_back("written_out", true);
  op.attrs.emplace_back("lines", Attr(Attr::List{Attr(q.op.line), Attr(k.op.line)}));
  op.in = {q.op.in[0], k.op.in[0]};
  op.in.insert(op.in.end(), q.op.in.begin() + 1, q.op.in.end());
  op.in.insert(op.in.end(), k.op.in.begin() + 1, k.op.in.end());
  op.out = {q.op.out[0], k.op.out[0]};
  return merged;
}

bool MergeOne(std::vector<TracedOp>* ops, const CanonContext& context) {
  const DataFlow flow(*ops);
  for (const TracedOp& traced : *ops) {
    if (traced.op.op != "attention" || traced.op.in.size() < 2) continue;
    const SideNorm q = FindSideNorm(*ops, flow, traced.op.in[0].id);
    const SideNorm k = FindSideNorm(*ops, flow, traced.op.in[1].id);
    const auto at = [&](int index) -> TracedOp& { return (*ops)[static_cast<size_t>(index)]; };
    if (q.norm < 0 || k.norm < 0 || q.norm == k.norm || q.projection < 0 ||
        q.projection != k.projection || at(q.norm).op.op != at(k.norm).op.op) {
      continue;
    }
    const int first = std::min(q.norm, k.norm);
    const int last = std::max(q.norm, k.norm);
    // The pair runs where the later one stood, unless the earlier one's result is needed before.
    const Op& early = at(first).op;
    const std::vector<int>& users = flow.Consumers(early.out[0].id);
    const bool needed = std::any_of(users.begin(), users.end(), [&](int u) { return u < last; });
    const bool ready = flow.ProducerOf(at(last), 0) < first;
    if (needed && !ready) continue;
    TracedOp merged = MergedNorm(at(q.norm), at(k.norm), FindAttr(traced.op, "head_dim"),
                                 q.after_rope, context.tp);
    const int place = ready ? first : last;
    at(place) = std::move(merged);
    ops->erase(ops->begin() + (place == first ? last : first));
    return true;
  }
  return false;
}

}  // namespace

void NameProjections(std::vector<TracedOp>* ops, const CanonContext& context) {
  Roles(ops, context).Name();
}

void MergeQkNorms(std::vector<TracedOp>* ops, const CanonContext& context) {
  while (MergeOne(ops, context)) {
  }
}

}  // namespace tenon::analyze
