// Stage `registry`: architecture name -> module and class, read from vLLM's registry.py.
#pragma once

#include <string>
#include <vector>

#include "analyze/analyze.h"
#include "analyze/interpreter.h"

namespace tenon::analyze {

struct RegistryEntry {
  std::string architecture;
  std::string table;   // _TEXT_GENERATION_MODELS ...
  std::string module;  // dotted, absolute; "transformers..." for that backend
  std::string cls;
  int line = 0;  // of the key in registry.py
};

class Registry {
 public:
  explicit Registry(Interpreter& in);

  const std::vector<RegistryEntry>& entries() const { return entries_; }
  const RegistryEntry* Find(const std::string& architecture) const;
  // The entry of `architecture`, or of its name with another suffix as vLLM normalises it.
  // Throws ResolutionError E1 or E2.
  const RegistryEntry& Require(const std::string& architecture) const;
  static constexpr const char* kFile = "vllm/model_executor/models/registry.py";

 private:
  void AddTable(Interpreter& in, const std::string& table);

  std::vector<RegistryEntry> entries_;
  std::vector<std::pair<std::string, std::string>> removed_;  // architecture -> last version
  std::vector<std::pair<std::string, std::string>> plugins_;  // architecture -> address
};

}  // namespace tenon::analyze
