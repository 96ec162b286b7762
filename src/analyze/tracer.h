// Records the tensor operators that run, with their place in the module tree and in the source.
#pragma once

#include <string>
#include <vector>

#include "analyze/analysis.h"
#include "analyze/value.h"

namespace tenon::analyze {

class Interpreter;

struct TracedOp {
  Op op;
  std::vector<const InstanceObject*> modules;  // whose forward is running, outermost first
  int layer_call = -1;                         // index into Tracer::layers
};

// One call of an element of a module list: a decoder layer, an encoder block.
struct LayerCall {
  const InstanceObject* layer = nullptr;
  int index = 0;
  size_t first_op = 0;
  size_t last_op = 0;  // behind the last
};

class Tracer {
 public:
  // Views are recorded as operators (functions), or keep the id of their base (models).
  bool explicit_views = false;
  bool recording = true;

  std::vector<TracedOp> ops;
  std::vector<LayerCall> layers;
  std::vector<std::string> custom_ops;  // whose Python bodies are running
  std::vector<const InstanceObject*> modules;
  std::vector<std::string> groups;  // expert group names in force

  int NextId() { return ++last_id_; }
  TensorUse Use(const TensorObject* tensor) const;

  // Adds one operator at the interpreter's present source line.
  Op& Emit(Interpreter& in, const std::string& op, const std::vector<Value>& inputs,
           const std::vector<TensorObject*>& outputs, Attr::Map attrs = {});

  void BeginModule(const InstanceObject* module);
  void EndModule();

 private:
  std::string PathInLayer(const InstanceObject* module) const;

  int last_id_ = 0;
  int current_layer_ = -1;
  size_t layer_depth_ = 0;  // modules.size() when the layer began
};

// "self_attn.q_norm": from `top` (exclusive) down to the module; the whole path without `top`.
std::string ModulePath(const InstanceObject* module, const InstanceObject* top);

}  // namespace tenon::analyze
