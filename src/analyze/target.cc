// From the target of the command line to the main class and its configuration.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "analyze/session.h"
#include "base/files.h"

namespace tenon::analyze {
namespace fs = std::filesystem;
namespace {

bool Exists(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// A name that ends like a class name of the registry is never a model name.
bool LooksLikeArchitecture(const std::string& target) {
  if (target.find('/') != std::string::npos || target.find('.') != std::string::npos) return false;
  for (const char* suffix : {"ForCausalLM", "Model", "ForConditionalGeneration", "LMHeadModel",
                             "ForSequenceClassification", "ForTokenClassification"}) {
    if (target.ends_with(suffix)) return true;
  }
  return false;
}

void UseConfig(Session& s, ModelConfig config) {
  s.config = std::move(config);
  if (!s.config.architectures.empty()) s.architecture = s.config.architectures[0];
}

void UseDirectory(Session& s, const fs::path& path) {
  for (const char* name : {"config.json", "params.json"}) {
    if (Exists(path / name)) {
      UseConfig(s, ReadConfigFile(path / name));
      return;
    }
  }
  throw ResolutionError("E4",
                        fmt::format("{} holds neither config.json nor params.json", path.string()));
}

// Classes of a file that are models: modules with load_weights, or named in EntryClass or __all__.
std::vector<ClassObject*> ModelClasses(Interpreter& in, ModuleObject* module) {
  std::vector<std::string> named;
  for (const char* list : {"EntryClass", "__all__"}) {
    const Value value = in.ScopeValue(&module->scope, list);
    if (value.Is(ObjectKind::kClass)) named.push_back(value.As<ClassObject>()->name);
    if (!value.Is(ObjectKind::kList) && !value.Is(ObjectKind::kTuple)) continue;
    for (const Value& item : in.Iterate(value)) {
      const auto* cls = item.As<ClassObject>();
      named.push_back(cls != nullptr ? cls->name : Str(item));
    }
  }
  std::vector<ClassObject*> found;
  for (const Node* statement : module->file->root()->kids) {
    if (statement->kind != Kind::kClass) continue;
    auto* cls = in.ScopeValue(&module->scope, statement->text).As<ClassObject>();
    if (cls == nullptr) continue;
    const bool is_module = in.IsModule(in.Blank(cls));
    const bool listed = std::find(named.begin(), named.end(), cls->name) != named.end();
    const bool loads = in.ClassAttribute(cls, "load_weights").Defined();
    // A model's inner part may load weights, too: only the outermost has no user in the file.
    if (is_module && (listed || loads)) found.push_back(cls);
  }
  if (found.size() > 1 && named.empty()) {
    const std::string& text = module->file->text();
    std::erase_if(found, [&](const ClassObject* cls) {
      return text.find("= " + cls->name + "(") != std::string::npos ||
             text.find("=" + cls->name) != std::string::npos;
    });
  }
  return found;
}

void UsePythonFile(Session& s, const std::string& target) {
  std::string path_text = target;
  std::string wanted;
  const size_t colon = target.rfind(".py:");
  if (colon != std::string::npos) {
    path_text = target.substr(0, colon + 3);
    wanted = target.substr(colon + 4);
  }
  std::error_code error;
  const fs::path path = fs::absolute(path_text, error).lexically_normal();
  if (!Exists(path)) throw ResolutionError("E4", fmt::format("{} does not exist", path_text));
  std::string dotted = s.tree.DottedName(path).value_or("");
  if (dotted.empty()) {
    dotted = "user." + path.stem().string();
    s.tree.AddModule(dotted, path);
  }
  ModuleObject* module = s.in->Parsed(s.in->Module(dotted));
  if (!wanted.empty()) {
    const Value value = s.in->ModuleAttribute(module, wanted);
    if (!value.Is(ObjectKind::kClass)) {
      throw ResolutionError("E7", fmt::format("{} has no class {}", path_text, wanted));
    }
    s.main = value.As<ClassObject>();
  } else {
    const std::vector<ClassObject*> classes = ModelClasses(*s.in, module);
    if (classes.size() != 1) {
      std::string names;
      for (const ClassObject* cls : classes) {
        names +=
            fmt::format("{}{} (line {})", names.empty() ? "" : ", ", cls->name, cls->node->line);
      }
      throw ResolutionError(
          "E7", classes.empty()
                    ? fmt::format("{} holds no model class: none subclasses nn.Module and has "
                                  "load_weights or is named in EntryClass or __all__",
                                  path_text)
                    : fmt::format("{} holds several model classes: {}; give {}:CLASS", path_text,
                                  names, path_text));
    }
    s.main = classes[0];
  }
  for (const RegistryEntry& entry : s.registry->entries()) {
    if (entry.module == dotted && entry.cls == s.main->name && s.entry == nullptr) {
      s.entry = &entry;
      s.architecture = entry.architecture;
    }
  }
}

void FindMainClass(Session& s) {
  if (s.main != nullptr) return;
  s.entry = &s.registry->Require(s.architecture);
  s.architecture = s.entry->architecture;
  const auto fail = [&](const std::string& what) {
    throw ResolutionError("E6", fmt::format("{}:{}: {} names {}", Registry::kFile, s.entry->line,
                                            s.architecture, what));
  };
  ModuleObject* module = s.in->Module(s.entry->module);
  if (module != nullptr && s.entry->module == "vllm.model_executor.models.transformers") {
    s.result.model.backend = "transformers";
    s.result.diagnostics.push_back(
        {"note", "E8",
         fmt::format("{} is served through the Transformers backend: its operators are in the "
                     "package transformers, whose sources were not given; classes of the backend "
                     "are listed, no sequence",
                     s.architecture),
         std::nullopt, std::nullopt});
  }
  if (module == nullptr) fail(fmt::format("module {}, which does not exist", s.entry->module));
  const Value cls = s.in->ModuleAttribute(module, s.entry->cls);
  if (!cls.Is(ObjectKind::kClass)) {
    fail(fmt::format("class {}, which {} does not define", s.entry->cls, s.entry->module));
  }
  s.main = cls.As<ClassObject>();
}

// Nothing gives this model's values: those of its configuration class describe one of its kind.
void UseClassValues(Session& s) {
  const ConfigClass found = DefaultConfigClass(*s.in, s.architecture, s.main);
  if (found.cls == nullptr) return;
  s.config = FromClass(found, found.ModelType(*s.in));
  s.result.diagnostics.push_back(
      {"note", "",
       fmt::format("no configuration was given: the default values of {} are used, which {}:{} "
                   "names; give --config FILE for those of a model",
                   found.cls->name, found.file, found.line),
       found.file, found.line});
}

}  // namespace

void FindTarget(Session& s) {
  const std::string& target = s.options.target;
  Input& input = s.result.input;
  input.target = target;
  if (target.ends_with(".py") || target.find(".py:") != std::string::npos) {
    input.kind = "file";
    UsePythonFile(s, target);
  } else if (target.ends_with(".json")) {
    input.kind = "config";
    if (!Exists(target)) throw ResolutionError("E4", fmt::format("{} does not exist", target));
    UseConfig(s, ReadConfigFile(target));
  } else if (std::error_code error; fs::is_directory(target, error)) {
    input.kind = "directory";
    UseDirectory(s, target);
  } else if (s.registry->Find(target) != nullptr || LooksLikeArchitecture(target)) {
    input.kind = "architecture";
    s.architecture = target;
  } else {
    input.kind = "name";
    s.architecture = ArchitectureOfName(s, target);
    if (const IndexedModel* model = FindIndexedModel(target)) s.config = FromIndex(*model);
  }
  FindMainClass(s);
  if (!s.options.config_file.empty()) {
    const std::string architecture = s.architecture;
    UseConfig(s, ReadConfigFile(s.options.config_file));
    if (!architecture.empty()) s.architecture = architecture;
  }
  if (s.config.entries.empty()) {
    const IndexedModel* model = DefaultModel(s.architecture);
    if (model != nullptr) {
      s.config = FromIndex(*model);
    } else {
      UseClassValues(s);
    }
  }
  ApplySets(s.options, &s.config);
  Normalise(&s.config, &s.result.diagnostics);
}

}  // namespace tenon::analyze
