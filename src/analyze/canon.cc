// Stage `canon`: canonical operators, layer variants, locations.
#include "analyze/canon.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyze/locations.h"
#include "analyze/session.h"

namespace tenon::analyze {
namespace {

// What the equality of two layers is judged by: operators, names, attributes, shapes. With `loose`
// the first norm of a residual stream counts as the later ones.
std::string Signature(const std::vector<TracedOp>& ops, bool loose) {
  std::string text;
  for (const TracedOp& traced : ops) {
    const Op& op = traced.op;
    text += loose && op.op == "fused_add_rms_norm" ? "rms_norm" : op.op;
    if (op.name) text += " " + *op.name;
    if (op.group) text += " group " + *op.group;
    for (const auto& [key, value] : op.attrs) {
      text += fmt::format(" {}={}", key, AttrText(value));
    }
    for (const TensorUse& use : op.out) {
      text += DimsText(use.shape) + use.dtype;
      if (loose) break;  // the residual is an output of the later layers' norm only
    }
    if (!loose) text += fmt::format("@{}", op.line);
    text += "\n";
  }
  return text;
}

std::vector<Op> Numbered(std::vector<TracedOp> ops) {
  std::map<int, int> ids;
  const auto renumber = [&](std::vector<TensorUse>* uses) {
    for (TensorUse& use : *uses) {
      use.id = ids.emplace(use.id, static_cast<int>(ids.size())).first->second;
    }
  };
  std::vector<Op> numbered;
  for (TracedOp& traced : ops) {
    traced.op.i = static_cast<int>(numbered.size());
    renumber(&traced.op.in);
    renumber(&traced.op.out);
    numbered.push_back(std::move(traced.op));
  }
  return numbered;
}

std::string Difference(const std::vector<TracedOp>& first, const std::vector<TracedOp>& steady) {
  std::string text;
  for (size_t i = 0; i < first.size() && i < steady.size(); ++i) {
    if (first[i].op.op == steady[i].op.op) continue;
    text += fmt::format("{}op {} is {} instead of {}", text.empty() ? "" : "; ", i, first[i].op.op,
                        steady[i].op.op);
  }
  if (first.size() != steady.size()) {
    text += fmt::format("{}{} operators instead of {}", text.empty() ? "" : "; ", first.size(),
                        steady.size());
  }
  return text;
}

struct Cluster {
  std::string signature;
  std::string loose;
  std::string layer_class;
  std::vector<int> layers;
  std::vector<TracedOp> ops;
  std::optional<FirstLayer> first;
};

void AddLayer(std::vector<Cluster>* clusters, const LayerCall& call, std::vector<TracedOp> ops) {
  const std::string& cls = call.layer->cls->name;
  const std::string signature = Signature(ops, false);
  for (Cluster& cluster : *clusters) {
    if (cluster.layer_class != cls || cluster.signature != signature) continue;
    cluster.layers.push_back(call.index);
    return;
  }
  const std::string loose = Signature(ops, true);
  for (Cluster& cluster : *clusters) {
    const bool only_first = cluster.layers.size() == 1 && !cluster.first;
    if (cluster.layer_class != cls || cluster.loose != loose || !only_first) continue;
    // The layer before has no residual yet: this one shows the steady state.
    cluster.first = FirstLayer{cluster.layers[0], Difference(cluster.ops, ops)};
    cluster.layers.push_back(call.index);
    cluster.signature = signature;
    cluster.ops = std::move(ops);
    return;
  }
  clusters->push_back({signature, loose, cls, {call.index}, std::move(ops), std::nullopt});
}

void RunPasses(std::vector<TracedOp>* ops, const CanonContext& context) {
  RecogniseNorms(ops);
  RecogniseActivations(ops);
  NameProjections(ops, context);
  MergeQkNorms(ops, context);
  for (TracedOp& traced : *ops) RemoveAttr(&traced.op, "compiled_function");
  CountBytes(ops);
}

}  // namespace

std::string AttrText(const Attr& attr) {
  if (const auto* v = std::get_if<bool>(&attr.value)) return *v ? "true" : "false";
  if (const auto* v = std::get_if<int64_t>(&attr.value)) return std::to_string(*v);
  if (const auto* v = std::get_if<double>(&attr.value)) return fmt::format("{}", *v);
  if (const auto* v = std::get_if<std::string>(&attr.value)) return *v;
  if (const auto* list = std::get_if<Attr::List>(&attr.value)) {
    std::string text = "[";
    for (const Attr& item : *list) text += AttrText(item) + ",";
    return text + "]";
  }
  if (const auto* map = std::get_if<Attr::Map>(&attr.value)) {
    std::string text = "{";
    for (const auto& [key, value] : *map) text += key + ":" + AttrText(value) + ",";
    return text + "}";
  }
  return "null";
}

void Canonicalise(Session& s) {
  const Tracer& tracer = s.in->tracer;
  CanonContext context;
  context.tp = s.platform.tp;
  const auto hidden = s.platform.facts.find("hidden_size");
  if (hidden != s.platform.facts.end()) {
    if (const auto* size = std::get_if<int64_t>(&hidden->second.value)) context.hidden_size = *size;
  }
  std::vector<Cluster> clusters;
  std::vector<bool> in_layer(tracer.ops.size(), false);
  for (const LayerCall& call : tracer.layers) {
    std::vector<TracedOp> ops(tracer.ops.begin() + static_cast<std::ptrdiff_t>(call.first_op),
                              tracer.ops.begin() + static_cast<std::ptrdiff_t>(call.last_op));
    for (size_t i = call.first_op; i < call.last_op; ++i) in_layer[i] = true;
    RunPasses(&ops, context);
    AddLayer(&clusters, call, std::move(ops));
  }
  FindLocations(s);
  for (Cluster& cluster : clusters) {
    Variant variant;
    variant.id = static_cast<int>(s.result.variants.size());
    variant.layer_class = cluster.layer_class;
    variant.layers = cluster.layers;
    variant.first_layer = cluster.first;
    variant.compiled = s.options.compile && IsCompiled(s);
    variant.ops = Numbered(std::move(cluster.ops));
    s.result.variants.push_back(std::move(variant));
  }
  std::vector<TracedOp> outside;
  for (size_t i = 0; i < tracer.ops.size(); ++i) {
    if (!in_layer[i]) outside.push_back(tracer.ops[i]);
  }
  RunPasses(&outside, context);
  s.result.outside_layers = Numbered(std::move(outside));
}

}  // namespace tenon::analyze
