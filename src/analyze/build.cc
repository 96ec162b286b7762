// Stage `build`: interprets __init__ of the main class.
#include <fmt/format.h>

#include "analyze/session.h"

namespace tenon::analyze {
namespace {

int64_t HiddenSize(Interpreter& in, const Value& text_config) {
  for (const char* key : {"hidden_size", "n_embd", "d_model"}) {
    const Value size = in.Attribute(text_config, key);
    if (size.IsInt()) return size.integer;
  }
  return 0;
}

// Keyword arguments of the constructor, by the names that vLLM gives its models.
Arguments ConstructorArguments(Session& s, const Value& init) {
  Arguments arguments;
  const auto* function = init.As<FunctionObject>();
  if (function == nullptr) return arguments;
  for (const Node* parameter : function->node->kids[0]->kids) {
    const std::string& name = parameter->text;
    if (name == "vllm_config") arguments.keywords.emplace_back(name, s.vllm_config);
    if (name == "prefix") arguments.keywords.emplace_back(name, s.in->NewString(""));
    if (name == "config") arguments.keywords.emplace_back(name, s.config_object);
  }
  return arguments;
}

// What a model of this table of the registry is run for.
const char* KindOf(const RegistryEntry* entry) {
  const std::string_view table = entry == nullptr ? "" : std::string_view(entry->table);
  if (table == "_SPECULATIVE_DECODING_MODELS") return "draft";
  const bool pools = table == "_EMBEDDING_MODELS" || table == "_LATE_INTERACTION_MODELS" ||
                     table == "_REWARD_MODELS" || table == "_TOKEN_CLASSIFICATION_MODELS" ||
                     table == "_SEQUENCE_CLASSIFICATION_MODELS";
  return pools ? "pooling" : "text";
}

// Public drafts of this kind have one further layer; the classes of their targets do not say so.
void OneStepOfDrafting(Interpreter& in, const Value& config) {
  constexpr const char* kLayers = "num_nextn_predict_layers";
  if (in.IsConfig(config) && !in.Attribute(config, kLayers).Defined()) {
    in.SetAttribute(config, kLayers, Value::Int(1));
  }
}

bool HasLayers(Interpreter& in, const Value& module, int depth = 0) {
  const auto* instance = module.As<InstanceObject>();
  if (instance == nullptr || depth > 4) return false;
  for (const auto& [key, value] : instance->attributes) {
    const auto* list = value.As<ListObject>();
    if (key == "items_" && list != nullptr && !list->items.empty()) return true;
    if (in.IsModule(value) && HasLayers(in, value, depth + 1)) return true;
  }
  return false;
}

}  // namespace

void BuildModel(Session& s) {
  Interpreter& in = *s.in;
  in.tracer.recording = false;
  if (s.config.Find("num_hidden_layers") == nullptr && !s.config.closed) {
    // Without a configuration one layer of each kind is shown.
    s.config.Set("num_hidden_layers", 2, "unknown", "");
    s.config.Set("rope_parameters",
                 Attr(Attr::Map{{"rope_type", "default"}, {"rope_theta", 10000.0}}), "unknown", "");
    in.diagnostics.push_back({"note", "W1",
                              "no configuration is known for this architecture: sizes are unknown; "
                              "give --config FILE",
                              std::nullopt, std::nullopt});
  }
  s.config_object = ConfigObject(in, s.config);
  if (std::string_view(KindOf(s.entry)) == "draft") OneStepOfDrafting(in, s.config_object);
  AddClassValues(in, s.config_object, &s.config);
  const Value text = TextConfig(in, s.config_object);
  s.platform.facts["hidden_size"] = Attr(HiddenSize(in, text));
  auto* sets = in.heap.New<DictObject>();
  for (const auto& [key, value] : s.platform.facts) {
    if (key.find('.') != std::string::npos) {
      sets->table.Set(in.NewString(key), in.FromAttr(value));
    }
  }
  s.platform.facts["model_kind"] = Attr(KindOf(s.entry));
  Arguments arguments;
  arguments.positional = {s.config_object, text, sets, s.main};
  s.vllm_config = in.Call(in.ModuleAttribute(in.Module("tenon.config"), "make"), arguments);
  const auto read_delegates = [&] {
    const Value current = in.ModuleAttribute(in.Module("tenon.config"), "current");
    for (const Value& name : in.Iterate(in.Attribute(current, "delegates"))) {
      s.result.model.delegates.push_back(Str(name));
    }
  };
  InstanceObject* model = in.Blank(s.main);
  s.model = model;
  const Value init = in.ClassAttribute(s.main, "__init__");
  if (!init.Defined()) return;
  Arguments constructor = ConstructorArguments(s, init);
  constructor.positional = {s.model};
  try {
    in.Call(init, std::move(constructor));
  } catch (const PythonError& error) {
    const bool kept = HasLayers(in, s.model);
    in.diagnostics.push_back({kept ? "warning" : "error", "E10",
                              fmt::format("{}:{}: __init__ of {} raises {}: {}", error.file,
                                          error.line, s.main->name, error.Name(), error.Message()),
                              error.file, error.line});
  }
  read_delegates();
}

}  // namespace tenon::analyze
