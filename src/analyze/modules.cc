// Modules: the tree's sources, the analyser's stand-in texts that win over them, and the rest of
// the world as External names.
#include <fmt/format.h>

#include "analyze/interpreter.h"
#include "analyze/stand_ins.h"
#include "base/error.h"

namespace tenon::analyze {

ModuleObject* Interpreter::LoadModule(const std::string& dotted) {
  const std::string_view text = StandIn(dotted);
  const auto file = tree_.Find(dotted);
  ModuleObject* stand_in = nullptr;
  if (!text.empty()) {
    stand_in = heap.New<ModuleObject>();
    stand_in->file = tree_.LoadStandIn(dotted, text);
    stand_in->is_stand_in = true;
    stand_in->is_package = true;
  }
  if (stand_in != nullptr) {
    stand_in->name = dotted;
    FillModule(stand_in);
  }
  if (!file) return stand_in;
  ModuleObject* module = heap.New<ModuleObject>();
  module->name = dotted;
  module->path = file->path.string();
  module->is_package = file->is_package;
  module->shadow = stand_in;
  return module;
}

void Interpreter::FillModule(ModuleObject* module) {
  module->environment.module = module;
  module->environment.scope = &module->scope;
  module->scope.file = module->file;
  module->scope.environment = &module->environment;
  FillScope(&module->scope, module->file->root());
}

ModuleObject* Interpreter::Parsed(ModuleObject* module) {
  if (module->file == nullptr) {
    module->file = tree_.Load(module->path);
    FillModule(module);
  }
  return module;
}

ModuleObject* Interpreter::Module(const std::string& dotted) {
  if (const auto known = modules_.find(dotted); known != modules_.end()) return known->second;
  ModuleObject* module = LoadModule(dotted);
  modules_[dotted] = module;
  return module;
}

bool Interpreter::Exists(const std::string& dotted) {
  if (dotted.empty() || !StandIn(dotted).empty() || tree_.Find(dotted)) return true;
  const std::string root = dotted.substr(0, dotted.find('.'));
  // A compiled extension inside the tree (`vllm._C`) has no source; the platform decides.
  if (tree_.Find(root)) return platform.Installed(dotted);
  return platform.Installed(root);
}

Value Interpreter::Import(const std::string& dotted) {
  if (ModuleObject* module = Module(dotted)) return module;
  if (!Exists(dotted)) Raise("ImportError", "No module named '" + dotted + "'");
  return NewExternal(dotted);
}

Value Interpreter::ModuleAttribute(ModuleObject* module, const std::string& name) {
  if (module->shadow != nullptr) {
    const Value value = ScopeValue(&module->shadow->scope, name);
    if (value.Defined()) return value;
  }
  if (name == "__name__") return NewString(module->name);
  Value value = ScopeValue(SourceScope(module), name);
  if (value.Defined()) return value;
  if (name == "__file__") return NewString(module->file->shown());
  for (size_t i = 0; i < module->scope.stars.size(); ++i) {
    const Binding star = module->scope.stars[i];
    if (!Active(&module->scope, star)) continue;
    const std::string from = AbsoluteModule(module, star.statement);
    if (ModuleObject* source = Module(from)) {
      value = source == module ? Value() : ModuleAttribute(source, name);
      if (value.Defined()) return value;
    }
  }
  if (tree_.Find(module->name + "." + name) || !StandIn(module->name + "." + name).empty()) {
    return Module(module->name + "." + name);
  }
  if (!module->is_stand_in && module->scope.names.contains("__getattr__")) {
    Arguments arguments;
    arguments.positional = {NewString(name)};
    try {
      return Call(ScopeValue(&module->scope, "__getattr__"), std::move(arguments));
    } catch (const PythonError& error) {
      if (error.Name() != "AttributeError") throw;
      return {};
    }
  }
  if (module->name == "transformers" || module->name.starts_with("transformers.")) {
    const std::string from = tree_.ConfigModule(name);
    if (!from.empty() && from != module->name) return ModuleAttribute(Module(from), name);
  }
  // A stand-in text says only what the analysis needs; the rest of that package is external.
  if (module->is_stand_in) return NewExternal(module->name + "." + name);
  return {};
}

std::string Interpreter::AbsoluteModule(const ModuleObject* importer, const Node* import_from) {
  if (import_from->integer == 0) return import_from->text;
  std::string package = importer->name;
  int64_t up = import_from->integer - (importer->is_package ? 1 : 0);
  for (; up > 0; --up) {
    const size_t dot = package.rfind('.');
    package = dot == std::string::npos ? "" : package.substr(0, dot);
  }
  if (import_from->text.empty()) return package;
  return package.empty() ? import_from->text : package + "." + import_from->text;
}

Value Interpreter::ImportFromValue(ModuleObject* importer, const Node* statement,
                                   const std::string& name) {
  std::string original = name;
  for (const Node* alias : statement->kids) {
    if (alias->kids[0] != nullptr && alias->kids[0]->text == name) original = alias->text;
  }
  const std::string from = AbsoluteModule(importer, statement);
  const Value module = Import(from);
  if (auto* source = module.As<ModuleObject>()) {
    // A package may import one of its own submodules while it is being read.
    const Value value =
        source == importer ? Import(from + "." + original) : ModuleAttribute(source, original);
    if (value.Defined()) return value;
    Raise("ImportError", fmt::format("cannot import name '{}' from '{}'", original, from));
  }
  if (ModuleObject* submodule = Module(from + "." + original)) return submodule;
  if (from.starts_with("transformers.")) return ModuleAttribute(Module("transformers"), original);
  return NewExternal(from + "." + original);
}

Value Interpreter::Resolve(const std::string& dotted_name) {
  // The longest prefix that is a module, then attributes.
  size_t dot = dotted_name.size();
  while (dot != std::string::npos && dot != 0) {
    const std::string prefix = dotted_name.substr(0, dot);
    if (ModuleObject* module = Module(prefix)) {
      Value value = module;
      size_t start = dot + 1;
      while (start < dotted_name.size() && value.Defined()) {
        const size_t next = std::min(dotted_name.find('.', start), dotted_name.size());
        value = Attribute(value, dotted_name.substr(start, next - start));
        start = next + 1;
      }
      return value;
    }
    dot = dotted_name.rfind('.', dot - 1);
  }
  return NewExternal(dotted_name);
}

}  // namespace tenon::analyze
