#include "analyze/config_class.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"

namespace tenon::analyze {
namespace fs = std::filesystem;
namespace {

constexpr const char* kLoader = "vllm.transformers_utils.config";
constexpr const char* kAuto = "transformers/models/auto";

int LineAt(std::string_view text, size_t position) {
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + long(position), '\n'));
}

std::string AutoTable(const SourceTree& tree, const char* name) {
  const fs::path path = tree.transformers_root() / kAuto / name;
  std::error_code error;
  if (tree.transformers_root().empty() || !fs::is_regular_file(path, error)) return "";
  return ReadFile(path);
}

// Rows of the tables are `("llama", "LlamaForCausalLM"),`: the text between the first quotes of the
// line that holds `position`.
std::string FirstString(std::string_view text, size_t position) {
  const size_t line = text.rfind('\n', position) + 1;
  const size_t open = text.find('"', line);
  if (open == std::string_view::npos || open >= position) return "";
  return std::string(text.substr(open + 1, text.find('"', open + 1) - open - 1));
}

bool IsConfigClass(const Value& value) {
  const auto* cls = value.As<ClassObject>();
  if (cls == nullptr) return false;
  for (const Object* entry : cls->linearisation) {
    const auto* base =
        entry->kind == ObjectKind::kClass ? static_cast<const ClassObject*>(entry) : nullptr;
    if (base != nullptr && base != cls && base->name == "PretrainedConfig") return true;
  }
  return false;
}

// A class that describes a language model, and not only the tower beside one.
bool HoldsLanguageModel(Interpreter& in, ClassObject* cls) {
  constexpr std::string_view kNames[] = {"vocab_size",      "text_config",    "llm_config",
                                         "language_config", "thinker_config", "decoder_config"};
  std::vector<std::string> names;
  for (const auto& [name, fallback] : in.DataclassFields(cls)) names.push_back(name);
  if (const auto* init = in.ClassAttribute(cls, "__init__").As<FunctionObject>()) {
    for (const Node* parameter : init->node->kids[0]->kids) names.push_back(parameter->text);
  }
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
  });
}

// XForCausalLM -> XConfig.
ConfigClass FromName(Interpreter& in, const std::string& architecture) {
  std::string stem = architecture;
  for (const std::string_view suffix :
       {"ForCausalLM", "ForConditionalGeneration", "ForSequenceClassification", "Model"}) {
    if (!stem.ends_with(suffix)) continue;
    stem.resize(stem.size() - suffix.size());
    break;
  }
  for (const char* package : {"vllm.transformers_utils.configs", "transformers"}) {
    ModuleObject* module = in.Module(package);
    const Value cls = module == nullptr ? Value() : in.ModuleAttribute(module, stem + "Config");
    if (!IsConfigClass(cls)) continue;
    auto* found = cls.As<ClassObject>();
    return {found, found->module->file->shown(), static_cast<int>(found->node->line)};
  }
  return {};
}

// Of several model types with this architecture, that of the language model alone.
ConfigClass FromTables(Interpreter& in, const std::string& architecture) {
  const std::string text = AutoTable(in.tree(), "modeling_auto.py");
  const std::string wanted = ", \"" + architecture + "\")";
  ConfigClass first;
  for (size_t at = text.find(wanted); at != std::string::npos; at = text.find(wanted, at + 1)) {
    const Value cls = ClassOfModelType(in, FirstString(text, at));
    if (!IsConfigClass(cls)) continue;
    const ConfigClass found{cls.As<ClassObject>(), fmt::format("{}/modeling_auto.py", kAuto),
                            LineAt(text, at)};
    const bool composite = in.ClassAttribute(found.cls, "text_config").Defined();
    if (!composite && first.cls != nullptr) return found;
    if (first.cls == nullptr) first = found;
    if (!composite) return found;
  }
  return first;
}

// `config: XConfig` between two bytes of a file, where X is a configuration class.
ConfigClass FromAnnotation(Interpreter& in, ModuleObject* module, size_t begin, size_t end) {
  const std::string& text = module->file->text();
  constexpr std::string_view kAnnotation = "config: ";
  for (size_t at = text.find(kAnnotation, begin); at < end; at = text.find(kAnnotation, at)) {
    const bool whole = at == 0 || (text[at - 1] != '_' && !std::isalnum(text[at - 1]));
    at += kAnnotation.size();
    size_t stop = at;
    while (stop < text.size() && (std::isalnum(text[stop]) || text[stop] == '_')) ++stop;
    const std::string name = text.substr(at, stop - at);
    if (!whole || !name.ends_with("Config")) continue;
    const Value cls = in.ScopeValue(&module->scope, name);
    if (IsConfigClass(cls) && HoldsLanguageModel(in, cls.As<ClassObject>())) {
      return {cls.As<ClassObject>(), module->file->shown(), LineAt(text, at)};
    }
  }
  return {};
}

}  // namespace

bool Interpreter::IsConfig(const Value& value) {
  const auto* instance = value.As<InstanceObject>();
  return instance != nullptr &&
         (instance->label == "config" || IsConfigClass(Value(instance->cls)));
}

std::string ConfigClass::ModelType(Interpreter& in) const {
  const Value type = in.ClassAttribute(cls, "model_type");
  return Text(type) == nullptr ? "" : Str(type);
}

Value ClassOfModelType(Interpreter& in, const std::string& model_type) {
  if (model_type.empty()) return {};
  ModuleObject* loader = in.Module(kLoader);
  // Parsing the loader is not worth while when it does not name the type.
  const bool has_source = loader != nullptr && !loader->path.empty();
  const std::string text = has_source ? ReadFile(loader->path) : "";
  if (text.find("\"" + model_type + "\"") != std::string::npos ||
      text.find(" " + model_type + "=") != std::string::npos) {
    const Value table = in.ScopeValue(in.SourceScope(loader), "_CONFIG_REGISTRY");
    const auto* own = table.As<InstanceObject>();
    auto* names = (own != nullptr ? own->native : table).As<DictObject>();
    const Value* name = names == nullptr ? nullptr : names->table.Find(in.NewString(model_type));
    if (name != nullptr) {
      const Value cls = Text(*name) != nullptr
                            ? in.Resolve("vllm.transformers_utils.configs." + Str(*name))
                            : *name;
      if (cls.Is(ObjectKind::kClass)) return cls;
    }
  }
  for (const char* file : {"auto_mappings.py", "configuration_auto.py"}) {
    const std::string table = AutoTable(in.tree(), file);
    const std::string row = "(\"" + model_type + "\", \"";
    const size_t at = table.find(row);
    if (at == std::string::npos) continue;
    const size_t start = at + row.size();
    const std::string name = table.substr(start, table.find('"', start) - start);
    const Value cls = in.ModuleAttribute(in.Module("transformers"), name);
    if (cls.Is(ObjectKind::kClass)) return cls;
  }
  return {};
}

std::string ArchitectureOfModelType(const Interpreter& in, const std::string& model_type) {
  const std::string text = AutoTable(in.tree(), "modeling_auto.py");
  const size_t begin = text.find("\nMODEL_FOR_CAUSAL_LM_MAPPING_NAMES");
  if (begin == std::string::npos) return "";
  const std::string row = "(\"" + model_type + "\", \"";
  const size_t at = text.find(row, begin);
  if (at == std::string::npos || at > text.find("\n)", begin)) return "";
  const size_t start = at + row.size();
  return text.substr(start, text.find('"', start) - start);
}

ConfigClass DefaultConfigClass(Interpreter& in, const std::string& architecture,
                               ClassObject* main) {
  const ConfigClass listed = FromTables(in, architecture);
  if (listed.cls != nullptr) return listed;
  const ConfigClass named = FromName(in, architecture);
  if (named.cls != nullptr) return named;
  for (const Object* entry : main->linearisation) {
    if (entry->kind != ObjectKind::kClass) continue;
    const auto* cls = static_cast<const ClassObject*>(entry);
    if (cls->module->is_stand_in) continue;
    ConfigClass found = FromAnnotation(in, cls->module, cls->node->begin, cls->node->end);
    if (found.cls == nullptr) {
      found = FromAnnotation(in, cls->module, 0, cls->module->file->text().size());
    }
    if (found.cls != nullptr) return found;
  }
  return {};
}

}  // namespace tenon::analyze
