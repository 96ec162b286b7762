// What the stages hand to one another.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyze/analyze.h"
#include "analyze/config.h"
#include "analyze/interpreter.h"
#include "analyze/platform.h"
#include "analyze/registry.h"

namespace tenon::analyze {

struct Session {
  explicit Session(const AnalyzeOptions& given, std::shared_ptr<SourceCache> shared = nullptr)
      : options(given), cache(std::move(shared)) {}

  AnalyzeOptions options;
  std::shared_ptr<SourceCache> cache;
  Platform platform;
  SourceTree tree;
  std::unique_ptr<Interpreter> in;
  std::unique_ptr<Registry> registry;
  Analysis result;

  // target
  std::string architecture;  // "" for a class of a Python file
  const RegistryEntry* entry = nullptr;
  ClassObject* main = nullptr;
  ModelConfig config;
  // build
  Value config_object;
  Value vllm_config;
  Value model;  // instance, undefined when construction failed
};

// Each stage fills its part of the session.
void FindTarget(Session& s);     // target.cc: stages index, registry, config
void ApplyOverlays(Session& s);  // overlay.cc
void BuildModel(Session& s);     // build.cc
void TraceModel(Session& s);     // trace.cc
void Canonicalise(Session& s);   // canon.cc

// names.cc: a model name to an architecture; fills input.evidence and input.rejected.
std::string ArchitectureOfName(Session& s, const std::string& name);

}  // namespace tenon::analyze
