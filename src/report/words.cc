#include "report/words.h"

#include <cmath>

#include "base/error.h"
#include "base/text.h"

namespace tenon::report {

std::string LayersText(const std::vector<int>& layers) {
  if (layers.empty()) return "none";
  std::vector<std::string> runs;
  for (size_t first = 0; first < layers.size();) {
    size_t last = first;
    while (last + 1 < layers.size() && layers[last + 1] == layers[last] + 1) ++last;
    runs.push_back(first == last ? fmt::format("{}", layers[first])
                                 : fmt::format("{}-{}", layers[first], layers[last]));
    first = last + 1;
  }
  return Join(runs, ", ");
}

std::string BytesText(int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (std::abs(value) >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.4g} {}", value, kUnits[unit]);
}

std::string TimeText(double us) {
  return std::abs(us) >= 1000 ? fmt::format("{:.3g} ms", us / 1000) : fmt::format("{:.3g} us", us);
}

std::string ShapesText(const analyze::Op& op) {
  std::vector<std::string> in;
  std::vector<std::string> out;
  for (const analyze::TensorUse& use : op.in) {
    if (!use.param) in.push_back(ir::DimsText(use.shape));
  }
  for (const analyze::TensorUse& use : op.out) out.push_back(ir::DimsText(use.shape));
  return Join(in, ", ") + " → " + Join(out, ", ");
}

std::optional<int64_t> OpBytes(const analyze::Op& op, int64_t tokens) {
  if (!op.bytes_read || !op.bytes_written) return std::nullopt;
  return (*op.bytes_read + *op.bytes_written).TryEval({{"T", tokens}});
}

std::string ChainText(const Report& report, const fuse::Opportunity& opportunity,
                      std::string_view arrow) {
  std::vector<std::string> names;
  for (const analyze::Op* op : OpsOf(report, opportunity)) {
    if (!op->aux) names.push_back(op->op);
  }
  return Join(names, arrow);
}

std::string TargetName(const fuse::Opportunity& opportunity) {
  if (!opportunity.interface) return opportunity.title;
  const std::string& text = *opportunity.interface;
  const size_t def = text.find("def ");
  const size_t open = text.find('(', def == std::string::npos ? 0 : def);
  if (def == std::string::npos || open == std::string::npos) return opportunity.title;
  return text.substr(def + 4, open - def - 4);
}

std::string Stars(const std::optional<int>& priority) {
  std::string stars;
  for (int i = priority.value_or(4); i <= 3; ++i) stars += "★";
  return stars;
}

std::string SavedText(const fuse::Opportunity& opportunity) {
  std::vector<std::string> saved;
  for (const fuse::TokenBenefit& at : opportunity.benefit.per_tokens) {
    saved.push_back(at.gain ? TimeText(at.saved_us) : "no gain");
  }
  return Join(saved, " / ");
}

const analyze::Variant* FindVariant(const Report& report, int id) {
  for (const analyze::Variant& variant : report.analysis.variants) {
    if (variant.id == id) return &variant;
  }
  return nullptr;
}

const analyze::Op* FindOp(const analyze::Variant& variant, int i) {
  for (const analyze::Op& op : variant.ops) {
    if (op.i == i) return &op;
  }
  return nullptr;
}

std::vector<const analyze::Op*> OpsOf(const Report& report, const fuse::Opportunity& opportunity) {
  std::vector<const analyze::Op*> ops;
  const auto add = [&](int variant_id, const std::vector<int>& numbers) {
    const analyze::Variant* variant = FindVariant(report, variant_id);
    TENON_CHECK(variant, "opportunity {} names variant {}, which the report does not have",
                opportunity.id, variant_id);
    for (int i : numbers) {
      const analyze::Op* op = FindOp(*variant, i);
      TENON_CHECK(op, "opportunity {} names operator {}, which variant {} does not have",
                  opportunity.id, i, variant_id);
      ops.push_back(op);
    }
  };
  add(opportunity.variant, opportunity.ops);
  if (opportunity.next) add(opportunity.next->variant, opportunity.next->ops);
  return ops;
}

std::set<int> FusedOps(const Report& report, const analyze::Variant& variant) {
  std::set<int> fused;
  for (const analyze::Op& op : variant.ops) {
    if (op.op == "fused_kernel") fused.insert(op.i);
  }
  for (const fuse::Opportunity& opportunity : report.findings.opportunities) {
    if (opportunity.status == "fused" && opportunity.variant == variant.id) {
      fused.insert(opportunity.ops.begin(), opportunity.ops.end());
    }
  }
  return fused;
}

std::map<std::string, int> CountByStatus(const Report& report) {
  std::map<std::string, int> counts;
  for (const fuse::Opportunity& opportunity : report.findings.opportunities) {
    ++counts[opportunity.status];
  }
  return counts;
}

std::string Title(const Report& report) {
  const analyze::Analysis& analysis = report.analysis;
  return analysis.input.kind == "name" ? analysis.input.target : analysis.model.architecture;
}

std::pair<std::string, std::string> ConditionAndArithmetic(const fuse::Benefit& benefit) {
  constexpr std::string_view kSeparator = " | ";
  const size_t at = benefit.condition.find(kSeparator);
  if (at == std::string::npos) return {benefit.condition, ""};
  return {benefit.condition.substr(0, at), benefit.condition.substr(at + kSeparator.size())};
}

bool IsProposed(const fuse::Opportunity& opportunity) {
  return opportunity.status == "open" || opportunity.status == "optin";
}

}  // namespace tenon::report
