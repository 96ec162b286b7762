#include "analyze/config.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "analyze/json_attr.h"
#include "base/files.h"

namespace tenon::analyze {
namespace fs = std::filesystem;
namespace {

// Keys whose dictionaries are configurations of inner models.
constexpr std::string_view kNested[] = {"text_config",    "llm_config",    "language_config",
                                        "thinker_config", "vision_config", "audio_config",
                                        "decoder_config", "encoder_config"};

bool IsNested(std::string_view key) {
  for (const std::string_view nested : kNested) {
    if (key == nested) return true;
  }
  return false;
}

int64_t IntegerOf(const ModelConfig& config, std::string_view key, int64_t fallback) {
  const ConfigEntry* entry = config.Find(key);
  const auto* value = entry == nullptr ? nullptr : std::get_if<int64_t>(&entry->value.value);
  return value == nullptr ? fallback : *value;
}

// "LLLG" or an integer period: one entry per layer.
void DeriveLayerTypes(ModelConfig* config) {
  const ConfigEntry* pattern = config->Find("sliding_window_pattern");
  if (pattern == nullptr || config->Find("layer_types") != nullptr) return;
  const int64_t layers = IntegerOf(*config, "num_hidden_layers", 0);
  const auto* text = std::get_if<std::string>(&pattern->value.value);
  const auto* period = std::get_if<int64_t>(&pattern->value.value);
  Attr::List types;
  for (int64_t i = 0; i < layers; ++i) {
    bool full = true;
    if (text != nullptr && !text->empty()) {
      full = (*text)[static_cast<size_t>(i) % text->size()] != 'L' || i + 1 == layers;
    }
    if (period != nullptr && *period > 0) full = (i + 1) % *period == 0;
    types.push_back(full ? "full_attention" : "sliding_attention");
  }
  const std::string origin = pattern->origin;
  const std::string source = pattern->source;
  config->Set("layer_types", Attr(types), origin, source);
}

void DeriveRope(ModelConfig* config, std::vector<Diagnostic>* diagnostics) {
  if (config->Find("rope_parameters") != nullptr) return;
  const ConfigEntry* theta = config->Find("rope_theta");
  const ConfigEntry* scaling = config->Find("rope_scaling");
  if (theta == nullptr && scaling == nullptr) return;
  Attr::Map parameters;
  const auto* given = scaling == nullptr ? nullptr : std::get_if<Attr::Map>(&scaling->value.value);
  if (given != nullptr) parameters = *given;
  const auto has = [&](std::string_view key) {
    for (const auto& [name, value] : parameters) {
      if (name == key) return true;
    }
    return false;
  };
  for (auto& [name, value] : parameters) {
    if (name == "type" && !has("rope_type")) name = "rope_type";
  }
  if (!has("rope_type")) parameters.emplace_back("rope_type", "default");
  if (theta != nullptr && !has("rope_theta")) parameters.emplace_back("rope_theta", theta->value);
  const ConfigEntry* partial = config->Find("partial_rotary_factor");
  if (partial != nullptr) parameters.emplace_back("partial_rotary_factor", partial->value);
  const ConfigEntry* base = theta != nullptr ? theta : scaling;
  const std::string origin = base->origin;
  const std::string source = base->source;
  // Two kinds of layers with a theta each: one dictionary per kind.
  if (const ConfigEntry* local = config->Find("rope_local_base_freq")) {
    Attr::Map local_parameters = {{"rope_type", "default"}, {"rope_theta", local->value}};
    parameters = {{"full_attention", Attr(parameters)},
                  {"sliding_attention", Attr(local_parameters)}};
  }
  config->Set("rope_parameters", Attr(parameters), origin, source);
  diagnostics->push_back({"note", "", "rope_theta and rope_scaling are read as rope_parameters",
                          std::nullopt, std::nullopt});
}

// "line 3, column 7" from the byte position of a parse error.
std::string Position(const std::string& text, size_t byte) {
  int line = 1;
  int column = 1;
  for (size_t i = 0; i + 1 < byte && i < text.size(); ++i) {
    if (text[i] == '\n') {
      ++line;
      column = 1;
    } else {
      ++column;
    }
  }
  return fmt::format("line {}, column {}", line, column);
}

Value Instance(Interpreter& in, const std::string& class_name, const Attr::Map& values,
               bool closed);

Value ConfigValue(Interpreter& in, const std::string& key, const Attr& value, bool closed) {
  const auto* map = std::get_if<Attr::Map>(&value.value);
  if (map == nullptr || !IsNested(key)) return in.FromAttr(value);
  return Instance(in, "PretrainedConfig", *map, closed);
}

// A class of that name below PretrainedConfig, for isinstance.
ClassObject* NamedClass(Interpreter& in, const std::string& name) {
  const Value base = in.ModuleAttribute(in.Module("transformers"), "PretrainedConfig");
  auto* parent = base.As<ClassObject>();
  if (name.empty() || name == parent->name) return parent;
  auto* cls = in.heap.New<ClassObject>();
  cls->name = name;
  cls->qualified = "transformers." + name;
  cls->node = parent->node;
  cls->module = parent->module;
  cls->bases = {base};
  cls->environment = parent->environment;
  cls->linearisation = parent->linearisation;
  cls->linearisation.insert(cls->linearisation.begin(), cls);
  return cls;
}

Value Instance(Interpreter& in, const std::string& class_name, const Attr::Map& values,
               bool closed) {
  InstanceObject* instance = in.Blank(NamedClass(in, class_name));
  instance->label = "config";
  instance->open = !closed;
  for (const auto& [key, value] : values) {
    instance->attributes.emplace_back(key, ConfigValue(in, key, value, closed));
  }
  return instance;
}

}  // namespace

const ConfigEntry* ModelConfig::Find(std::string_view key) const {
  for (const ConfigEntry& entry : entries) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

void ModelConfig::Set(const std::string& key, Attr value, const std::string& origin,
                      const std::string& source) {
  for (ConfigEntry& entry : entries) {
    if (entry.key != key) continue;
    entry = {key, std::move(value), origin, source};
    return;
  }
  entries.push_back({key, std::move(value), origin, source});
}

ModelConfig ReadConfigFile(const fs::path& path) {
  const std::string text = ReadFile(path);
  nlohmann::ordered_json json;
  try {
    json = nlohmann::ordered_json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    throw ResolutionError(
        "E4", fmt::format("{} is not valid JSON: {}", path.string(), Position(text, error.byte)));
  }
  if (!json.is_object()) {
    throw ResolutionError("E4", fmt::format("{} holds no JSON object", path.string()));
  }
  ModelConfig config;
  config.closed = true;
  for (const auto& [key, value] : json.items()) {
    config.entries.push_back({key, AttrFromJson(value), "file", path.string()});
  }
  if (json.contains("architectures") && json["architectures"].is_array()) {
    for (const auto& name : json["architectures"]) {
      if (name.is_string()) config.architectures.push_back(name.get<std::string>());
    }
  }
  if (json.contains("model_type") && json["model_type"].is_string()) {
    config.model_type = json["model_type"].get<std::string>();
  }
  const IndexedModel* known = FindModelType(config.model_type);
  if (known != nullptr) config.config_class = known->config_class;
  if (config.architectures.empty()) {
    if (known == nullptr) {
      throw ResolutionError(
          "E4", fmt::format("{} names no architectures and its model_type '{}' is unknown",
                            path.string(), config.model_type));
    }
    config.architectures = {known->architecture};
  }
  return config;
}

ModelConfig FromClass(const ConfigClass& found, const std::string& model_type) {
  ModelConfig config;
  config.closed = true;
  config.config_class = found.cls->name;
  config.model_type = model_type;
  return config;
}

ModelConfig FromIndex(const IndexedModel& model) {
  ModelConfig config;
  config.closed = true;
  config.config_class = model.config_class;
  config.model_type = model.model_type;
  config.architectures = {model.architecture};
  config.Set("model_type", model.model_type, "builtin", model.source);
  config.Set("architectures", Attr(Attr::List{model.architecture}), "builtin", model.source);
  for (const auto& [key, value] : model.config) config.Set(key, value, "builtin", model.source);
  return config;
}

void ApplySets(const AnalyzeOptions& options, ModelConfig* config) {
  for (const std::string& set : options.sets) {
    auto [key, value] = ParseSet(set);
    if (key.starts_with("config.")) key = key.substr(7);
    if (key.find('.') != std::string::npos) continue;  // platform.x, parallel.x
    config->Set(key, std::move(value), "option", "--set " + set);
  }
}

void Normalise(ModelConfig* config, std::vector<Diagnostic>* diagnostics) {
  DeriveLayerTypes(config);
  DeriveRope(config, diagnostics);
}

Value ConfigObject(Interpreter& in, const ModelConfig& config) {
  Attr::Map values;
  for (const ConfigEntry& entry : config.entries) values.emplace_back(entry.key, entry.value);
  Value cls = ClassOfModelType(in, config.model_type);
  if (!cls.Is(ObjectKind::kClass)) {
    cls = in.ModuleAttribute(in.Module("transformers"), config.config_class);
  }
  if (cls.Is(ObjectKind::kClass)) {
    Arguments arguments;
    for (const auto& [key, value] : values) {
      arguments.keywords.emplace_back(key, in.FromAttr(value));
    }
    const Value made = in.Call(cls, std::move(arguments));
    if (auto* instance = made.As<InstanceObject>()) instance->label = "config";
    return made;
  }
  return Instance(in, config.config_class, values, config.closed);
}

void AddClassValues(Interpreter& in, const Value& object, ModelConfig* config) {
  const auto* instance = object.As<InstanceObject>();
  if (instance == nullptr || instance->cls->module->is_stand_in) return;
  const std::string source = instance->cls->module->file->shown();
  const char* origin = source.starts_with("vllm/") ? "vllm" : "class";
  for (const auto& [key, value] : instance->attributes) {
    const bool own = key.starts_with("_") || key == "sub_configs_defaults";
    if (own || config->Find(key) != nullptr || value.IsNone()) continue;
    const bool plain = value.IsNumber() || Text(value) != nullptr || value.Is(ObjectKind::kList) ||
                       value.Is(ObjectKind::kDict);
    if (plain) config->Set(key, in.ToAttr(value), origin, source);
  }
}

Value TextConfig(Interpreter& in, const Value& config) {
  const auto* instance = config.As<InstanceObject>();
  if (instance == nullptr) return config;
  for (const std::string_view key :
       {"text_config", "llm_config", "language_config", "thinker_config"}) {
    const Value inner = in.Attribute(config, std::string(key));
    if (inner.Is(ObjectKind::kInstance)) return TextConfig(in, inner);
  }
  return config;
}

}  // namespace tenon::analyze
