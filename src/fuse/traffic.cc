#include "fuse/traffic.h"

#include <algorithm>

namespace tenon::fuse {
namespace {

ir::Workload AtTokens(int64_t tokens) {
  ir::Workload workload;
  workload.sizes = {{kTokens, tokens}};
  return workload;
}

bool IsCollective(std::string_view op) {
  return op == "all_reduce" || op == "all_gather" || op == "reduce_scatter";
}

std::optional<ir::Cost> StepCost(const Sequence& s, int i, const ir::Workload& workload) {
  const Step& step = s.step(i);
  auto cost = ir::CallsCost(s.graph(), workload, {&step.call, 1});
  // q and k are normalised by a kernel each.
  if (cost && step.op == "qk_norm") cost->launches = static_cast<int>(step.results.size());
  return cost;
}

class Counter {
 public:
  Counter(const Match& match, int64_t tokens)
      : match_(match), s_(*match.sequence), workload_(AtTokens(tokens)) {}

  std::optional<Traffic> Run() {
    const bool writes_cache = match_.scene->cost_of_last == "kv_write";
    std::vector<ir::NodeId> calls;
    for (const int i : match_.steps) {
      if (writes_cache && i == match_.last()) continue;
      if (!AddBefore(StepCost(s_, i, workload_))) return std::nullopt;
      calls.push_back(s_.step(i).call);
    }
    const auto fused = ir::CallsCost(s_.graph(), workload_, calls);
    if (!fused) return std::nullopt;
    traffic_.after = *fused;
    if (writes_cache && !AddCacheWrite()) return std::nullopt;
    if (match_.next_step && !AddNextLayer()) return std::nullopt;
    traffic_.after.launches = 1;
    return traffic_;
  }

 private:
  bool AddBefore(const std::optional<ir::Cost>& cost) {
    if (cost) traffic_.before += *cost;
    return cost.has_value();
  }

  // An operator that is no node of the chain's graph joins the kernel; it takes over a value of
  // `bytes` that the chain has made, which is written only for other readers.
  void Join(const ir::Cost& cost, int64_t bytes, bool has_other_readers) {
    traffic_.after += cost;
    traffic_.after.read_bytes -= bytes;
    if (!has_other_readers) traffic_.after.written_bytes -= bytes;
  }

  // Inside of an attention operator K and V are read and written to the cache.
  bool AddCacheWrite() {
    const std::vector<Operand>& in = s_.step(match_.last()).in;
    if (in.size() < 3) return false;
    const auto k = ir::ValueBytes(s_.TypeOf(in[1].value), workload_.sizes);
    const auto v = ir::ValueBytes(s_.TypeOf(in[2].value), workload_.sizes);
    if (!k || !v) return false;
    const ir::Cost write{.read_bytes = *k + *v, .written_bytes = *k + *v, .launches = 1};
    traffic_.before += write;
    if (!match_.Contains(in[1].producer)) {
      traffic_.after += write;
      return true;
    }
    const auto& uses = s_.Uses(in[1].producer, in[1].result);
    Join(write, *k, std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
           return use.step != match_.last() || use.operand != 1;
         }));
    return true;
  }

  // The first operator of the next layer. The sum that the layer keeps as its residual stream is
  // still written.
  bool AddNextLayer() {
    const auto cost = StepCost(*match_.next, *match_.next_step, workload_);
    if (!AddBefore(cost)) return false;
    const Operand& handed = match_.next->step(*match_.next_step).in.at(0);
    int readers = 0;
    for (const Step& step : match_.next->steps()) {
      for (const Operand& operand : step.in) readers += operand.root == handed.root;
    }
    const auto bytes = ir::ValueBytes(match_.next->TypeOf(handed.value), workload_.sizes);
    Join(*cost, bytes.value_or(0), readers > 1);
    return true;
  }

  const Match& match_;
  const Sequence& s_;
  const ir::Workload workload_;
  Traffic traffic_;
};

}  // namespace

std::optional<Traffic> CountTraffic(const Match& match, int64_t tokens) {
  return Counter(match, tokens).Run();
}

std::vector<OpTraffic> LayerTraffic(const Sequence& sequence, int64_t tokens) {
  const ir::Workload workload = AtTokens(tokens);
  std::vector<OpTraffic> all;
  for (int i = 0; i < sequence.size(); ++i) {
    const auto cost = StepCost(sequence, i, workload);
    if (cost) all.push_back({*cost, IsCollective(sequence.step(i).op)});
  }
  return all;
}

}  // namespace tenon::fuse
