// The fused body of a chain: canonical operators of a lowered graph become calls of registry
// operators and primitive nodes, each rounded where the unfused operator stores its result (rule
// R), so that the body computes bit for bit what the chain computes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/builder.h"
#include "ir/ir.h"

namespace tenon::fuse {

// Calls of one lowered graph, in order.
struct ComposePart {
  const ir::Graph* graph = nullptr;
  std::vector<ir::NodeId> calls;
  // Input of this graph that is the previous part's last value (a chain that crosses layers).
  ir::NodeId linked_input = -1;
};

struct ComposeRequest {
  std::string name;
  std::vector<ComposePart> parts;
  DType storage = DType::kBF16;  // element type of the source that T stands for
  std::string rows = "T";        // size that counts rows; becomes `tokens`
  bool keep_link = false;        // the linked value is an output, too
  bool is_function = false;      // inputs are the source's, by its names and in its order
};

// Outputs are the values that something outside the chain reads. UsageError with file and line when
// an operator of the chain has no body.
ir::Graph Compose(const ComposeRequest& request);

// Operators that Compose has a body for.
bool HasBody(std::string_view op);

// What translations of single operators work with.
class Composer {
 public:
  explicit Composer(const ComposeRequest& request);
  ir::Graph Run();

  ir::Builder& builder() { return builder_; }
  // The value of an operand in the body, with the operand's declared axes.
  ir::Value Of(ir::NodeId source);
  // A type of the source in the body: T, W and I for storage, weights and indices; `tokens`.
  ir::Type Translate(const ir::Type& type) const;
  const ir::Node& source(ir::NodeId id) const { return part_->graph->node(id); }
  ir::Elem ResultElem(const ir::Node& call, size_t result) const;

  // A new input that the source does not show as an operand (tables of a module).
  ir::Value HiddenInput(std::string_view name, ir::Elem elem, std::vector<ir::Axis> axes);
  // `op` of the registry on `args`, which its arguments `names` ("x,weight") are.
  std::vector<ir::Value> Call(std::string_view op, std::string_view names,
                              const std::vector<ir::Value>& args,
                              std::map<std::string, ir::AttrValue> attributes,
                              std::vector<ir::Type> results);

  // Attributes of a call of the source.
  double Float(const ir::Node& call, std::string_view name, double fallback) const;
  int64_t Int(const ir::Node& call, std::string_view name, int64_t fallback) const;
  bool Bool(const ir::Node& call, std::string_view name, bool fallback) const;
  std::string Word(const ir::Node& call, std::string_view name) const;
  std::vector<int64_t> Ints(const ir::Node& call, std::string_view name) const;  // empty: none

  [[noreturn]] void Refuse(const ir::Node& call, std::string_view why) const;

 private:
  void RunPart(const ComposePart& part);
  ir::Value External(ir::NodeId source);
  void AddOutputs(const ComposePart& part, bool last);
  std::string Unique(std::string name);

  struct NamedValue {
    std::string name;
    ir::Value value;
  };

  const ComposeRequest& request_;
  const ComposePart* part_ = nullptr;
  ir::Builder builder_;
  std::map<ir::NodeId, ir::Value> values_;                // of the present part, by source node
  std::map<ir::NodeId, std::vector<ir::Value>> results_;  // of matched calls
  ir::NodeId reading_ = -1;  // the call whose operands are being read: gives inputs their names
  std::set<std::string> names_;
  std::map<std::string, ir::Value> weights_;  // by name in the source
  ir::Value last_;
  std::vector<std::vector<NamedValue>> outputs_;  // of each matched call, in order
};

// One operator: its results, in their natural axes (heads apart).
using Translation = std::vector<ir::Value> (*)(Composer& composer, const ir::Node& call);
Translation FindTranslation(std::string_view op);  // null when there is none

// `value` with trailing axes aligned to those of `type` and size-1 axes dropped, as torch
// broadcasts it.
ir::Value AlignTo(ir::Value value, const ir::Type& type);
ir::Value WithAxes(ir::Value value, const std::vector<ir::Axis>& axes);

}  // namespace tenon::fuse
