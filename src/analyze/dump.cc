#include "analyze/dump.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "analyze/json_attr.h"

namespace tenon::analyze {
namespace {

std::string Uses(const std::vector<TensorUse>& uses) {
  std::string text;
  for (const TensorUse& use : uses) {
    if (!text.empty()) text += ", ";
    text += use.param ? *use.param : fmt::format("%{}", use.id);
    text += DimsText(use.shape);
    if (!use.view.empty()) text += " " + use.view;
  }
  return text;
}

std::string IndexText(const Session& s) {
  std::string text = fmt::format("root {}\nversion {}\n", s.tree.root().string(),
                                 s.result.environment.vllm_version.value_or("unknown"));
  for (const SourceFile* file : s.tree.loaded()) text += "parsed " + file->shown() + "\n";
  return text;
}

std::string RegistryText(const Session& s) {
  std::string text;
  for (const RegistryEntry& entry : s.registry->entries()) {
    text += fmt::format("{} {} {}:{} line {}\n", entry.table, entry.architecture, entry.module,
                        entry.cls, entry.line);
  }
  return text;
}

std::string ConfigText(const Session& s) {
  std::string text = fmt::format("class {}{}\n", s.config.config_class,
                                 s.config.closed ? "" : " (values not listed are unknown)");
  for (const ConfigEntry& entry : s.config.entries) {
    text +=
        fmt::format("{} = {}  [{}]\n", entry.key, JsonFromAttr(entry.value).dump(), entry.origin);
  }
  return text;
}

void ModuleText(Interpreter& in, const Value& module, const std::string& name, int depth,
                std::string* text) {
  const auto* instance = module.As<InstanceObject>();
  *text += fmt::format("{:{}}{}: {}\n", "", 2 * depth, name, instance->cls->name);
  for (const auto& [key, value] : instance->attributes) {
    if (key == "items_" && value.Is(ObjectKind::kList)) {
      int index = 0;
      for (const Value& item : value.As<ListObject>()->items) {
        if (in.IsModule(item)) ModuleText(in, item, std::to_string(index), depth + 1, text);
        ++index;
      }
    } else if (in.IsModule(value) && value.As<InstanceObject>()->parent == instance) {
      ModuleText(in, value, key, depth + 1, text);
    }
  }
}

std::string VariantsText(const Session& s) {
  std::string text;
  for (const Variant& variant : s.result.variants) {
    text += fmt::format("variant {} {} layers {}\n", variant.id, variant.layer_class,
                        fmt::join(variant.layers, ","));
    if (variant.first_layer) {
      text +=
          fmt::format("  layer {}: {}\n", variant.first_layer->layer, variant.first_layer->differs);
    }
    for (const Op& op : variant.ops) text += "  " + OpText(op) + "\n";
  }
  text += "outside\n";
  for (const Op& op : s.result.outside_layers) text += "  " + OpText(op) + "\n";
  for (const Assumption& a : s.result.assumptions) {
    text +=
        fmt::format("assumed {}: {}:{}: {} ({})\n", a.taken, a.file, a.line, a.condition, a.why);
  }
  for (const Diagnostic& d : s.result.diagnostics) {
    text += fmt::format("{} {} {}\n", d.severity, d.code, d.message);
  }
  return text;
}

}  // namespace

std::string OpText(const Op& op) {
  std::string text = fmt::format("{} {}", op.i, op.op);
  if (op.name) text += " " + *op.name;
  text += fmt::format(": {} -> {}", Uses(op.in), Uses(op.out));
  for (const auto& [key, value] : op.attrs) {
    text += fmt::format(" {}={}", key, JsonFromAttr(value).dump());
  }
  if (op.group) text += " group=" + *op.group;
  return text + fmt::format(" {}:{}", op.file, op.line);
}

std::string DumpStage(const Session& s, std::string_view stage) {
  if (stage == "index") return IndexText(s);
  if (stage == "registry") return RegistryText(s);
  if (stage == "config") return ConfigText(s);
  if (stage == "overlay") {
    std::string text;
    for (const Overlay& overlay : s.result.overlays) {
      text += fmt::format("{} {} -> {}\n", overlay.kind, overlay.target, overlay.replacement);
    }
    return text;
  }
  std::string text;
  if (stage == "build") {
    if (s.model.Defined()) ModuleText(*s.in, s.model, s.main->name, 0, &text);
    return text;
  }
  if (stage == "trace") {
    for (const TracedOp& traced : s.in->tracer.ops) {
      text += fmt::format("layer {} {}\n", traced.layer_call, OpText(traced.op));
    }
    return text;
  }
  return VariantsText(s);
}

}  // namespace tenon::analyze
