#include "analyze/locations.h"

#include <algorithm>

namespace tenon::analyze {
namespace {

Location LocationOf(const ClassObject* cls) {
  return {cls->name, std::string(cls->file()), static_cast<int>(cls->node->line)};
}

bool IsMixer(const std::string& op) {
  return op == "attention" || op == "linear_attention" || op == "mamba";
}

// Operators that make a module the feed-forward part of its layer.
bool IsMlp(const Op& op) {
  return op.op == "fused_moe" || op.op == "topk" || op.op.ends_with("_and_mul") ||
         op.op == "relu2" || op.op == "silu" || op.op == "gelu" || op.op == "relu";
}

void Add(std::vector<LayerLocation>* list, const ClassObject* cls, int layer,
         const std::string& kind) {
  const Location location = LocationOf(cls);
  for (LayerLocation& known : *list) {
    if (!(known.location == location) || known.kind != kind) continue;
    const bool listed =
        std::find(known.layers.begin(), known.layers.end(), layer) != known.layers.end();
    if (!listed) known.layers.push_back(layer);
    return;
  }
  list->push_back({location, {layer}, kind});
}

// The modules between the layer (exclusive) and the known layer that ran the operator.
std::vector<const InstanceObject*> Path(const TracedOp& traced, const InstanceObject* layer) {
  std::vector<const InstanceObject*> path;
  bool below = false;
  for (const InstanceObject* module : traced.modules) {
    if (below && module->cls->layer_row < 0 && !module->cls->module->is_stand_in) {
      path.push_back(module);
    }
    below = below || module == layer;
  }
  return path;
}

void AddLayer(Session& s, const LayerCall& call) {
  Locations& locations = s.result.locations;
  const Tracer& tracer = s.in->tracer;
  Add(&locations.decoder_layers, call.layer->cls, call.index, "");
  std::vector<const InstanceObject*> mixers;
  for (size_t i = call.first_op; i < call.last_op; ++i) {
    const TracedOp& traced = tracer.ops[i];
    if (!IsMixer(traced.op.op)) continue;
    const Attr* kind = traced.op.Find("kind");
    const auto* text = kind == nullptr ? nullptr : std::get_if<std::string>(&kind->value);
    for (const InstanceObject* module : Path(traced, call.layer)) {
      Add(&locations.attention, module->cls, call.index, text == nullptr ? traced.op.op : *text);
      mixers.push_back(module);
    }
  }
  for (size_t i = call.first_op; i < call.last_op; ++i) {
    const TracedOp& traced = tracer.ops[i];
    if (!IsMlp(traced.op)) continue;
    const bool shared = traced.op.group && *traced.op.group == "shared_expert";
    const bool moe = traced.op.op == "fused_moe" || traced.op.op == "topk";
    const std::vector<const InstanceObject*> path = Path(traced, call.layer);
    for (size_t k = 0; k < path.size(); ++k) {
      if (std::find(mixers.begin(), mixers.end(), path[k]) != mixers.end()) continue;
      // Around a shared expert stands the block of the experts, which is listed by itself.
      if (shared && k + 1 != path.size()) continue;
      Add(&locations.mlp, path[k]->cls, call.index, moe ? "moe" : shared ? "shared" : "dense");
    }
  }
}

bool Defines(Session& s, const ClassObject* cls, const char* method) {
  return s.in->ScopeValue(const_cast<LazyScope*>(&cls->scope), method).Defined();
}

}  // namespace

void FindLocations(Session& s) {
  Model& model = s.result.model;
  model.architecture = s.architecture.empty() ? s.main->name : s.architecture;
  if (s.entry != nullptr) model.registry_table = s.entry->table;
  model.module = s.main->module->name;
  model.cls = s.main->name;
  model.config = s.config.entries;
  Locations& locations = s.result.locations;
  locations.main.location = LocationOf(s.main);
  if (!Defines(s, s.main, "__init__") && !Defines(s, s.main, "forward")) {
    ClassObject* found = nullptr;
    s.in->ClassAttribute(s.main, "__init__", nullptr, &found);
    if (found != nullptr && found != s.main && !found->module->is_stand_in) {
      locations.main.implementation = LocationOf(found);
    }
  }
  for (const LayerCall& call : s.in->tracer.layers) AddLayer(s, call);
}

bool IsCompiled(const Session& s) {
  for (const LayerCall& call : s.in->tracer.layers) {
    for (const InstanceObject* at = call.layer; at != nullptr; at = at->parent) {
      for (const Value& decorator : at->cls->decorators) {
        const auto* function = decorator.As<FunctionObject>();
        const bool named =
            function != nullptr && function->qualified.starts_with("support_torch_compile");
        if (named) return true;
      }
    }
    break;
  }
  return false;
}

}  // namespace tenon::analyze
