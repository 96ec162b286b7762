#include "fuse/traffic.h"

#include <algorithm>
#include <set>

#include "ir/source_op.h"

namespace tenon::fuse {
namespace {

namespace key = ir::source_op;

std::optional<int64_t> Evaluate(const std::optional<ir::Dim>& size, int64_t tokens) {
  const ir::Bindings sizes{{kTokens, tokens}};
  if (!size || !size->HasValue(sizes)) return std::nullopt;
  return size->Eval(sizes);
}

std::optional<int64_t> SizeAttr(const Sequence& s, int step, std::string_view name,
                                int64_t tokens) {
  const std::string text = s.Word(step, name);
  if (text.empty()) return std::nullopt;
  return Evaluate(ir::Dim(text), tokens);
}

std::optional<int64_t> ValueBytes(const Sequence& s, ir::NodeId value, int64_t tokens) {
  return Evaluate(TypeBytes(s.TypeOf(value)), tokens);
}

bool IsCollective(std::string_view op) {
  return op == "all_reduce" || op == "all_gather" || op == "reduce_scatter";
}

// q and k are normalised by a kernel each; views are none.
int Launches(const Step& step) {
  if (step.is_view) return 0;
  return step.op == "qk_norm" ? static_cast<int>(step.results.size()) : 1;
}

// Sum over operands and results, where the analysis gives no count.
std::optional<int64_t> TypeTraffic(const Sequence& s, int i, int64_t tokens) {
  int64_t bytes = 0;
  for (const Operand& operand : s.step(i).in) {
    const auto of = ValueBytes(s, operand.value, tokens);
    if (!of) return std::nullopt;
    bytes += *of;
  }
  const ir::Node& node = s.graph().node(s.step(i).call);
  for (const ir::Type& result : node.results) {
    const auto of = Evaluate(TypeBytes(result), tokens);
    if (!of) return std::nullopt;
    bytes += *of;
  }
  return bytes;
}

// Multiply-adds of a product, where the analysis gives no count: every row meets every weight.
int64_t ProductFlops(const Sequence& s, int i, int64_t tokens) {
  const int weight = s.WeightOperand(i);
  if (!IsProjection(s.step(i).op) || weight < 0) return 0;
  const ir::Type& type = s.TypeOf(s.step(i).in[static_cast<size_t>(weight)].value);
  return 2 * tokens * Evaluate(type.numel(), tokens).value_or(0);
}

std::optional<OpTraffic> StepTraffic(const Sequence& s, int i, int64_t tokens) {
  const Step& step = s.step(i);
  OpTraffic traffic{step.op, 0, 0, Launches(step), IsCollective(step.op)};
  if (step.is_view) return traffic;
  const auto read = SizeAttr(s, i, key::kBytesRead, tokens);
  const auto written = SizeAttr(s, i, key::kBytesWritten, tokens);
  const auto bytes = read && written ? std::optional(*read + *written) : TypeTraffic(s, i, tokens);
  if (!bytes) return std::nullopt;
  traffic.bytes = *bytes;
  traffic.flops = SizeAttr(s, i, key::kFlops, tokens).value_or(ProductFlops(s, i, tokens));
  return traffic;
}

// The write of K and V that is inside of an attention operator: both are read and written.
std::optional<OpTraffic> CacheWrite(const Sequence& s, int attention, int64_t tokens) {
  const Step& step = s.step(attention);
  if (step.in.size() < 3) return std::nullopt;
  const auto k = ValueBytes(s, step.in[1].value, tokens);
  const auto v = ValueBytes(s, step.in[2].value, tokens);
  if (!k || !v) return std::nullopt;
  return OpTraffic{"kv_write", 2 * (*k + *v), 0, 1, false};
}

class Counter {
 public:
  Counter(const Match& match, int64_t tokens)
      : match_(match), s_(*match.sequence), tokens_(tokens) {}

  std::optional<Traffic> Run() {
    for (const int i : match_.steps) {
      const bool part = i == match_.last() && match_.scene->cost_of_last == "kv_write";
      if (!Add(part ? CacheWrite(s_, i, tokens_) : StepTraffic(s_, i, tokens_))) {
        return std::nullopt;
      }
      if (part) {
        SaveOperand(i, 1);  // of the cache's two tensors only K is an intermediate value
      } else if (!s_.step(i).is_view) {
        SaveOperands(i);
      }
    }
    if (match_.next_step) {
      if (!Add(StepTraffic(*match_.next, *match_.next_step, tokens_))) return std::nullopt;
      SaveCrossing();
    }
    SaveWrites();
    traffic_.bytes_after = std::max<int64_t>(traffic_.bytes_before() - saved_, 0);
    return traffic_;
  }

 private:
  bool Add(std::optional<OpTraffic> op) {
    if (!op) return false;
    traffic_.launches_before += op->launches;
    traffic_.ops.push_back(std::move(*op));
    return true;
  }

  int64_t Bytes(ir::NodeId value) const { return ValueBytes(s_, value, tokens_).value_or(0); }

  // An operand that the chain made, or that an earlier operator of it has read, is not read again.
  void SaveOperand(int step, size_t k) {
    const Operand& operand = s_.step(step).in[k];
    const bool made = operand.producer >= 0 && match_.Contains(operand.producer) &&
                      !s_.step(operand.producer).is_view;
    if (made || !read_.insert(operand.value).second) saved_ += Bytes(operand.value);
  }

  void SaveOperands(int step) {
    for (size_t k = 0; k < s_.step(step).in.size(); ++k) SaveOperand(step, k);
  }

  void SaveCrossing() {
    const Step& sink = match_.next->step(*match_.next_step);
    saved_ += ValueBytes(*match_.next, sink.in.at(0).value, tokens_).value_or(0);
    // The sum that the next layer keeps as its residual stream is still written.
    int readers = 0;
    for (const Step& step : match_.next->steps()) {
      for (const Operand& operand : step.in) readers += operand.root == sink.in[0].root;
    }
    if (readers == 1) saved_ += Bytes(s_.step(match_.last()).results[0]);
  }

  // Results that nothing outside reads are not written.
  void SaveWrites() {
    const bool partial = !match_.scene->cost_of_last.empty();
    for (const int i : match_.steps) {
      const Step& step = s_.step(i);
      if (step.is_view || i == match_.last()) continue;
      for (size_t r = 0; r < step.results.size(); ++r) {
        const auto& uses = s_.Uses(i, static_cast<int>(r));
        const bool inside = std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
          return match_.Contains(use.step) && !(partial && use.operand != 1);
        });
        if (!uses.empty() && inside) saved_ += Bytes(step.results[r]);
      }
    }
  }

  const Match& match_;
  const Sequence& s_;
  const int64_t tokens_;
  Traffic traffic_;
  int64_t saved_ = 0;
  std::set<ir::NodeId> read_;
};

}  // namespace

int64_t Traffic::bytes_before() const {
  int64_t sum = 0;
  for (const OpTraffic& op : ops) sum += op.bytes;
  return sum;
}

int64_t Traffic::flops() const {
  int64_t sum = 0;
  for (const OpTraffic& op : ops) sum += op.flops;
  return sum;
}

std::optional<Traffic> CountTraffic(const Match& match, int64_t tokens) {
  return Counter(match, tokens).Run();
}

std::vector<OpTraffic> LayerTraffic(const Sequence& sequence, int64_t tokens) {
  std::vector<OpTraffic> all;
  for (int i = 0; i < sequence.size(); ++i) {
    if (auto traffic = StepTraffic(sequence, i, tokens)) all.push_back(std::move(*traffic));
  }
  return all;
}

}  // namespace tenon::fuse
