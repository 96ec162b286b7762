#include "analyze/registry.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace tenon::analyze {
namespace {

// vLLM's suffixes that stand for the same decoder with another head.
constexpr std::string_view kSuffixes[] = {"ForCausalLM",
                                          "ForConditionalGeneration",
                                          "ForSequenceClassification",
                                          "ForTokenClassification",
                                          "ForTextEncoding",
                                          "EmbeddingModel",
                                          "ForImageClassification",
                                          "ForVideoClassification",
                                          "ClassificationModel",
                                          "ForRewardModeling",
                                          "RewardModel",
                                          "LMHeadModel",
                                          "ChatModel",
                                          "Model"};

std::string Stem(const std::string& name) {
  for (const std::string_view suffix : kSuffixes) {
    if (name.size() > suffix.size() && name.ends_with(suffix)) {
      return name.substr(0, name.size() - suffix.size());
    }
  }
  return name;
}

// Line of a string key in the dictionaries of the file; 0 when it is made by an expression.
int KeyLine(const Node* node, const std::string& key) {
  if (node == nullptr) return 0;
  if (node->kind == Kind::kPair && node->kids[0]->kind == Kind::kString &&
      node->kids[0]->text == key) {
    return static_cast<int>(node->kids[0]->line);
  }
  for (const Node* kid : node->kids) {
    if (const int line = KeyLine(kid, key)) return line;
  }
  return 0;
}

const Node* FindAssignment(const Node* root, const std::string& name) {
  for (const Node* statement : root->kids) {
    const bool plain = statement->kind == Kind::kAssign && statement->kids[1]->text == name;
    const bool annotated = statement->kind == Kind::kAnnotated && statement->kids[0]->text == name;
    if (plain) return statement->kids[0];
    if (annotated) return statement->kids[2];
  }
  return nullptr;
}

}  // namespace

Registry::Registry(Interpreter& in) {
  ModuleObject* module = in.Module("vllm.model_executor.models.registry");
  TENON_ASSERT(module != nullptr, "the tree has a registry");
  in.Parsed(module);
  const Node* merged = FindAssignment(module->file->root(), "_VLLM_MODELS");
  if (merged != nullptr) {
    for (const Node* kid : merged->kids) {
      if (kid->kind == Kind::kDoubleStar && kid->kids[0]->kind == Kind::kName) {
        AddTable(in, kid->kids[0]->text);
      }
    }
  }
  for (const auto& [name, target] : {std::pair{"_PREVIOUSLY_SUPPORTED_MODELS", &removed_},
                                     {"_OOT_SUPPORTED_MODELS", &plugins_}}) {
    const Value table = in.ScopeValue(&module->scope, name);
    if (const auto* dict = table.As<DictObject>()) {
      for (const auto& [key, value] : dict->table.entries) {
        target->emplace_back(Str(key), Str(value));
      }
    }
  }
}

void Registry::AddTable(Interpreter& in, const std::string& table) {
  ModuleObject* module = in.Module("vllm.model_executor.models.registry");
  const Value value = in.ScopeValue(&module->scope, table);
  const auto* dict = value.As<DictObject>();
  if (dict == nullptr) return;
  const Node* node = FindAssignment(module->file->root(), table);
  for (const auto& [key, target] : dict->table.entries) {
    const auto* pair = target.As<TupleObject>();
    if (pair == nullptr || pair->items.size() < 2) continue;
    RegistryEntry entry;
    entry.architecture = Str(key);
    entry.table = table;
    entry.module = Str(pair->items[0]);
    entry.cls = Str(pair->items[1]);
    entry.line = KeyLine(node, entry.architecture);
    if (entry.line == 0 && node != nullptr) entry.line = static_cast<int>(node->line);
    const bool absolute = entry.module.starts_with("vllm.");
    if (!absolute) entry.module = "vllm.model_executor.models." + entry.module;
    // Later tables win, as in the merge that vLLM makes.
    const auto known = std::find_if(entries_.begin(), entries_.end(), [&](const auto& other) {
      return other.architecture == entry.architecture;
    });
    if (known != entries_.end()) {
      *known = std::move(entry);
    } else {
      entries_.push_back(std::move(entry));
    }
  }
}

const RegistryEntry* Registry::Find(const std::string& architecture) const {
  for (const RegistryEntry& entry : entries_) {
    if (entry.architecture == architecture) return &entry;
  }
  return nullptr;
}

const RegistryEntry& Registry::Require(const std::string& architecture) const {
  if (const RegistryEntry* entry = Find(architecture)) return *entry;
  for (const auto& [name, version] : removed_) {
    if (name == architecture) {
      throw ResolutionError("E2",
                            fmt::format("{} was supported until vLLM {}", architecture, version));
    }
  }
  for (const auto& [name, address] : plugins_) {
    if (name == architecture) {
      throw ResolutionError("E2", fmt::format("{} lives in plugin {}", architecture, address));
    }
  }
  const std::string stem = Stem(architecture);
  if (stem != architecture && !stem.empty()) {
    for (const std::string_view suffix : kSuffixes) {
      if (const RegistryEntry* entry = Find(stem + std::string(suffix))) return *entry;
    }
  }
  std::vector<std::string> names;
  for (const RegistryEntry& entry : entries_) names.push_back(entry.architecture);
  std::vector<std::string> near = NearestNames(architecture, names, 3, 5);
  for (const std::string& name : names) {
    const bool same_stem = Lower(Stem(name)) == Lower(stem);
    const bool listed = std::find(near.begin(), near.end(), name) != near.end();
    if (same_stem && !listed && near.size() < 5) near.push_back(name);
  }
  std::string sentence = fmt::format("unknown architecture '{}'", architecture);
  for (size_t i = 0; i < near.size(); ++i) {
    const RegistryEntry* entry = Find(near[i]);
    std::string file = entry->module;
    std::replace(file.begin(), file.end(), '.', '/');
    sentence += fmt::format("{}{} ({}.py)", i == 0 ? "; nearest: " : ", ", near[i], file);
  }
  throw ResolutionError("E1", sentence);
}

}  // namespace tenon::analyze
