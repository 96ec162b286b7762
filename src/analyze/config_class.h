// Which class of vLLM or of Transformers holds a model's configuration, found in their sources. Its
// own values describe a model when nothing else does.
#pragma once

#include <string>

#include "analyze/interpreter.h"

namespace tenon::analyze {

// Undefined when neither package has a class for this model type ("llama"). vLLM's own wins.
Value ClassOfModelType(Interpreter& in, const std::string& model_type);

// The causal language model of Transformers for it, or "".
std::string ArchitectureOfModelType(const Interpreter& in, const std::string& model_type);

// The class, and what says so.
struct ConfigClass {
  ClassObject* cls = nullptr;  // null: none is known
  std::string file;
  int line = 0;

  std::string ModelType(Interpreter& in) const;
};

// By Transformers' tables of architectures; else of the same name; else by the annotation `config:
// XConfig` in the main class, its file, or those of its bases.
ConfigClass DefaultConfigClass(Interpreter& in, const std::string& architecture, ClassObject* main);

}  // namespace tenon::analyze
