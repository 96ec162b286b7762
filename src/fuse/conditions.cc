#include "fuse/conditions.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/error.h"
#include "ir/cost.h"

namespace tenon::fuse {
namespace {

using Sentence = std::optional<std::string>;

// Size of the last axis of operand `k`, as text; empty when there is none.
std::string LastSize(const Match& m, int step, size_t k) {
  const Step& of = m.sequence->step(step);
  if (k >= of.in.size()) return "";
  const ir::Type& type = m.sequence->TypeOf(of.in[k].value);
  return type.axes.empty() ? "" : type.axes.back().size.text();
}

Sentence SameStream(const Match& m, const Model&) {
  const Step& first = m.sequence->step(m.steps[0]);
  for (const int step : m.steps) {
    if (m.sequence->step(step).stream != first.stream) {
      return fmt::format("{} runs on another stream or in another group than {}",
                         m.sequence->step(step).op, first.op);
    }
  }
  return std::nullopt;
}

// Rows of every matched operator's first operand.
Sentence SameExtent(const Match& m, const Model&) {
  std::string rows;
  for (const int step : m.steps) {
    const Step& of = m.sequence->step(step);
    if (of.in.empty()) continue;
    const ir::Type& type = m.sequence->TypeOf(of.in[0].value);
    if (type.axes.empty()) continue;
    const std::string& here = type.axes[0].size.text();
    if (!rows.empty() && here != rows) {
      return fmt::format("{} works on {} rows, the operator before it on {}", of.op, here, rows);
    }
    rows = here;
  }
  return std::nullopt;
}

Sentence PerHeadNorm(const Match& m, const Model&) {
  const int rope = m.Find("rotary_embedding");
  const int norm = m.FindNorm();
  const auto head_dim = m.sequence->Int(rope, "head_dim");
  const std::string width = LastSize(m, norm, 0);
  if (!head_dim || width == std::to_string(*head_dim)) return std::nullopt;
  return fmt::format("the norm is over {} channels, the rotated head has {}", width, *head_dim);
}

Sentence RopeAfterNorm(const Match& m, const Model&) {
  const int norm = m.FindNorm();
  if (m.sequence->Word(norm, "order") != "after_rope") return std::nullopt;
  return "the norm comes after the rotation";
}

bool SpansRow(const Match& m) { return m.sequence->Word(m.FindNorm(), "span") == "full"; }

Sentence SpanHead(const Match& m, const Model&) {
  if (!SpansRow(m)) return std::nullopt;
  return "the statistic spans all heads (span = full)";
}

Sentence SpanFull(const Match& m, const Model&) {
  if (SpansRow(m)) return std::nullopt;
  return "the statistic is that of one head";
}

Sentence RankLocalStatistic(const Match& m, const Model& model) {
  const bool reduced = m.sequence->Bool(m.FindNorm(), "tp_reduction").value_or(true);
  if (!SpansRow(m) || model.tp == 1 || !reduced) return std::nullopt;
  return fmt::format(
      "the statistic spans the heads of {} ranks: the sum of squares has to be "
      "reduced between norm and rotation",
      model.tp);
}

std::optional<int64_t> HeadDim(const Match& m) {
  const int rope = m.Find("rotary_embedding");
  if (rope >= 0) {
    if (const auto dim = m.sequence->Int(rope, "head_dim")) return dim;
  }
  const int norm = m.FindNorm();
  if (norm < 0) return std::nullopt;
  const ir::Type& type = m.sequence->TypeOf(m.sequence->step(norm).in.at(0).value);
  return type.axes.empty() ? std::nullopt : type.axes.back().size.constant();
}

Sentence HeadDimIs(const Match& m, std::initializer_list<int64_t> allowed) {
  const auto dim = HeadDim(m);
  if (dim && std::find(allowed.begin(), allowed.end(), *dim) != allowed.end()) return std::nullopt;
  return fmt::format("head_dim is {}, the kernel has {}", dim ? std::to_string(*dim) : "unknown",
                     fmt::join(allowed, ", "));
}

Sentence HeadDim64To256(const Match& m, const Model&) { return HeadDimIs(m, {64, 128, 256}); }
Sentence HeadDim128(const Match& m, const Model&) { return HeadDimIs(m, {128}); }

Sentence HalfPrecision(const Match&, const Model& model) {
  if (model.dtype == DType::kBF16 || model.dtype == DType::kF16) return std::nullopt;
  return fmt::format("the kernel is for float16 and bfloat16, the model runs in {}",
                     TorchName(model.dtype));
}

Sentence BFloat16(const Match&, const Model& model) {
  if (model.dtype == DType::kBF16) return std::nullopt;
  return fmt::format("the kernel is for bfloat16, the model runs in {}", TorchName(model.dtype));
}

Sentence CommonEps(const Match& m, const Model&) {
  const auto eps = m.sequence->Float(m.FindNorm(), "eps");
  if (eps && (*eps == 1e-5 || *eps == 1e-6)) return std::nullopt;
  return fmt::format("the pattern has eps 1e-5 and 1e-6, this norm {}",
                     eps ? fmt::format("{:g}", *eps) : "an unknown one");
}

Sentence NormHasWeight(const Match& m, const Model&) {
  if (m.sequence->Bool(m.FindNorm(), "has_weight").value_or(true)) return std::nullopt;
  return "the norm has no weight, which the kernel requires";
}

Sentence PlainNormWeight(const Match& m, const Model&) {
  const double offset = m.sequence->Float(m.FindNorm(), "weight_offset").value_or(0);
  if (offset == 0) return std::nullopt;
  return "the norm multiplies by a float32 weight + 1, which the pattern does not have";
}

Sentence PlainRope(const Match& m, const Model&) {
  const std::string kind = m.sequence->Word(m.Find("rotary_embedding"), "kind");
  if (kind.find("mrope") == std::string::npos) return std::nullopt;
  return "the rotation is multimodal (mrope), which the kernel lacks";
}

Sentence Compiled(const Match& m, const Model&) {
  if (!m.sequence->layer().compiled) return "the layer is not compiled";
  for (const int step : m.steps) {
    const std::string inside = m.sequence->Word(step, "op_inside");
    if (!inside.empty()) {
      return fmt::format("{} runs inside the custom operator {}, which no pass sees into",
                         m.sequence->step(step).op, inside);
    }
  }
  return std::nullopt;
}

Sentence NoCollective(const Match& m, const Model&) {
  for (const int step : m.steps) {
    const std::string& op = m.sequence->step(step).op;
    if (op == "all_reduce" || op == "reduce_scatter" || op == "all_gather") {
      return fmt::format("a sum over ranks ({}) stands between ({}:{})", op,
                         m.sequence->span(step).file, m.sequence->span(step).line);
    }
  }
  return std::nullopt;
}

Sentence SeveralRanks(const Match&, const Model& model) {
  if (model.tp > 1) return std::nullopt;
  return "one rank: nothing is reduced";
}

// Largest message of FlashInfer's fused all-reduce, MiB, by compute capability and ranks: the table
// FI_ALLREDUCE_FUSION_MAX_SIZE_MB of vLLM's allreduce_rms_fusion.py.
struct MessageLimit {
  int sm;
  int tp;
  double mib;
};
constexpr std::array<MessageLimit, 9> kMessageLimits = {{{90, 2, 64},
                                                         {90, 4, 2},
                                                         {90, 8, 0.5},
                                                         {100, 2, 64},
                                                         {100, 4, 32},
                                                         {100, 8, 1},
                                                         {103, 2, 64},
                                                         {103, 4, 64},
                                                         {103, 8, 4}}};

// The smallest token count decides: the pass then takes at least the decode steps.
Sentence MessageBelowLimit(const Match& m, const Model& model) {
  for (const MessageLimit& limit : kMessageLimits) {
    if (limit.sm != model.sm || limit.tp != model.tp) continue;
    const Operand& x = m.sequence->step(m.steps[0]).in.at(0);
    const auto bytes =
        ir::ValueBytes(m.sequence->TypeOf(x.value),
                       {{kTokens, *std::min_element(model.tokens.begin(), model.tokens.end())}});
    if (!bytes) return "the size of the message is unknown";
    const double mib = static_cast<double>(*bytes) / (1 << 20);
    if (mib <= limit.mib) return std::nullopt;
    return fmt::format("the message has {:.2f} MiB, the kernel takes {} on {} ranks", mib,
                       limit.mib, model.tp);
  }
  return fmt::format("the kernel has no size limit for sm_{} and {} ranks", model.sm, model.tp);
}

Sentence HasBias(const Match& m, const Model&) {
  if (m.sequence->Bool(m.steps[0], "bias").value_or(false)) return std::nullopt;
  return "no bias";
}

Sentence KvWrite(const Match& m, const Model&) {
  const std::string kind = m.sequence->Word(m.last(), "kind");
  if (kind.find("encoder") == std::string::npos && kind != "cross") return std::nullopt;
  return fmt::format("{} attention writes no cache", kind);
}

int TensorOperands(const Sequence& s, int step) {
  int count = 0;
  for (const Operand& operand : s.step(step).in) count += !s.TypeOf(operand.value).axes.empty();
  return count;
}

Sentence ResidualAdd(const Match& m, const Model&) {
  const int add = m.Find("add");
  if (add >= 0 && TensorOperands(*m.sequence, add) == 2 &&
      LastSize(m, add, 0) == LastSize(m, add, 1) && m.sequence->WeightOperand(add) < 0) {
    return std::nullopt;
  }
  return "the addition has one tensor operand only, or a broadcast one";
}

Sentence ScalarMul(const Match& m, const Model&) {
  const int mul = m.Find("mul");
  if (mul < 0 || TensorOperands(*m.sequence, mul) == 1) return std::nullopt;
  return "the multiplication is not by a scalar";
}

Sentence TwoTensorMul(const Match& m, const Model&) {
  const int mul = m.Find("mul");
  if (mul >= 0 && TensorOperands(*m.sequence, mul) == 2) return std::nullopt;
  return "the multiplication is by a scalar";
}

Sentence FullWidthGate(const Match& m, const Model&) {
  if (LastSize(m, m.steps[0], 0) != "1") return std::nullopt;
  return "the gate is one number per token: folding it into the product that makes it is better";
}

Sentence DistinctSlices(const Match& m, const Model&) {
  std::set<ir::NodeId> values;
  for (const int step : m.steps) {
    const Step& of = m.sequence->step(step);
    if (of.in.empty() || of.in[0].value == of.in[0].root) return "a norm reads the whole tensor";
    if (!values.insert(of.in[0].value).second) return "two norms read the same slice";
  }
  return std::nullopt;
}

Sentence FourInputs(const Match& m, const Model&) {
  std::set<ir::NodeId> outside;
  for (const int step : m.steps) {
    for (const Operand& operand : m.sequence->step(step).in) {
      if (!m.Contains(operand.producer)) outside.insert(operand.value);
    }
  }
  if (outside.size() <= 4) return std::nullopt;
  return fmt::format("{} distinct inputs, more than 4", outside.size());
}

Sentence NoLateOperand(const Match& m, const Model&) {
  for (const int step : m.steps) {
    for (const Operand& operand : m.sequence->step(step).in) {
      if (operand.producer < 0 || m.Contains(operand.producer) || step == m.steps[0]) continue;
      const std::string& op = m.sequence->step(operand.producer).op;
      if (op == "all_reduce" || op == "all_gather" || op == "reduce_scatter") {
        return fmt::format("{} takes an operand that comes out of {}", m.sequence->step(step).op,
                           op);
      }
    }
  }
  return std::nullopt;
}

Sentence SameQuantisation(const Match& m, const Model&) {
  const std::string quant = m.sequence->Word(m.steps[0], "quant");
  const std::string parallel = m.sequence->Word(m.steps[0], "parallel");
  for (const int step : m.steps) {
    if (m.sequence->Word(step, "quant") != quant)
      return "the projections are quantised differently";
    if (m.sequence->Word(step, "parallel") != parallel) {
      return "the projections are sharded differently";
    }
  }
  return std::nullopt;
}

Sentence WeightsFitCache(const Match& m, const Model& model) {
  int64_t bytes = 0;
  for (const int step : m.steps) {
    const int weight = m.sequence->WeightOperand(step);
    if (weight < 0) continue;
    const ir::NodeId value = m.sequence->step(step).in[static_cast<size_t>(weight)].value;
    bytes += ir::ValueBytes(m.sequence->TypeOf(value), {}).value_or(0);
  }
  if (model.cache_bytes == 0 || bytes <= model.cache_bytes) return std::nullopt;
  return fmt::format(
      "the products are bound by their {:.0f} MB of weights, which exceed the cache of {:.0f} MB",
      static_cast<double>(bytes) / 1e6, static_cast<double>(model.cache_bytes) / 1e6);
}

struct Condition {
  std::string_view name;
  Sentence (*check)(const Match&, const Model&);
};

// Sorted by name.
constexpr std::array<Condition, 30> kConditions = {{
    {"at_most_4_inputs", FourInputs},
    {"bfloat16", BFloat16},
    {"compiled", Compiled},
    {"distinct_slices", DistinctSlices},
    {"eps_1e-5_or_1e-6", CommonEps},
    {"full_width_gate", FullWidthGate},
    {"half_precision", HalfPrecision},
    {"has_bias", HasBias},
    {"head_dim_128", HeadDim128},
    {"head_dim_64_128_256", HeadDim64To256},
    {"kv_write", KvWrite},
    {"message_below_limit", MessageBelowLimit},
    {"no_collective", NoCollective},
    {"no_late_operand", NoLateOperand},
    {"norm_has_weight", NormHasWeight},
    {"per_head_norm", PerHeadNorm},
    {"plain_norm_weight", PlainNormWeight},
    {"plain_rope", PlainRope},
    {"rank_local_statistic", RankLocalStatistic},
    {"residual_add", ResidualAdd},
    {"rope_after_norm", RopeAfterNorm},
    {"same_extent", SameExtent},
    {"same_quantisation", SameQuantisation},
    {"same_stream", SameStream},
    {"scalar_mul", ScalarMul},
    {"several_ranks", SeveralRanks},
    {"span_full", SpanFull},
    {"span_head", SpanHead},
    {"two_tensor_mul", TwoTensorMul},
    {"weights_fit_cache", WeightsFitCache},
}};

}  // namespace

std::optional<std::string> Violation(std::string_view condition, const Match& match,
                                     const Model& model) {
  const auto found = std::find_if(kConditions.begin(), kConditions.end(),
                                  [condition](const Condition& c) { return c.name == condition; });
  TENON_ASSERT(found != kConditions.end(), "the pattern table names an unknown condition {}",
               condition);
  return found->check(match, model);
}

std::optional<std::string> FirstViolation(std::span<const std::string_view> conditions,
                                          const Match& match, const Model& model) {
  for (const std::string_view condition : conditions) {
    if (auto sentence = Violation(condition, match, model)) return sentence;
  }
  return std::nullopt;
}

std::vector<std::string_view> ConditionNames() {
  std::vector<std::string_view> names;
  for (const Condition& condition : kConditions) names.push_back(condition.name);
  return names;
}

}  // namespace tenon::fuse
