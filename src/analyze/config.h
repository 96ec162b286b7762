// Stage `config`: the values that the model's control flow depends on, each with its origin.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analyze/analyze.h"
#include "analyze/config_class.h"
#include "analyze/interpreter.h"
#include "analyze/model_index.h"

namespace tenon::analyze {

struct ModelConfig {
  std::vector<ConfigEntry> entries;
  std::string config_class;  // of Transformers, by name
  std::string model_type;
  bool closed = false;  // a missing value is absent, not unknown
  std::vector<std::string> architectures;

  const ConfigEntry* Find(std::string_view key) const;
  void Set(const std::string& key, Attr value, const std::string& origin,
           const std::string& source);
};

// config.json, or the params.json of a directory. Throws ResolutionError E4.
ModelConfig ReadConfigFile(const std::filesystem::path& path);
// The values that a class of vLLM or Transformers gives when it is told none.
ModelConfig FromClass(const ConfigClass& found, const std::string& model_type);
ModelConfig FromIndex(const IndexedModel& model);
// Values of --set that are not for the platform or the deployment.
void ApplySets(const AnalyzeOptions& options, ModelConfig* config);
// Names and derived values that vLLM's own loading brings into line: rope_parameters, layer_types.
void Normalise(ModelConfig* config, std::vector<Diagnostic>* diagnostics);

// The configuration object that models read. vLLM's own class of that model type wins.
Value ConfigObject(Interpreter& in, const ModelConfig& config);
// Adds the values that the object's class gave it, for the report.
void AddClassValues(Interpreter& in, const Value& object, ModelConfig* config);
// hf_text_config: the nested text configuration if there is one.
Value TextConfig(Interpreter& in, const Value& config);

}  // namespace tenon::analyze
