// A layer's graph read as a sequence of operators: who consumes whom once views are seen through.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fuse/model.h"

namespace tenon::fuse {

// An operand: the value as the operator reads it, and what it is a view of.
struct Operand {
  ir::NodeId value = -1;  // node that the operator takes
  ir::NodeId root = -1;   // node that a view chain starts from
  int producer = -1;      // step that defines `root`, -1: an input of the layer
  int result = 0;         // which of its results
};

struct Step {
  int index = 0;  // Op::i of the analysis
  ir::NodeId call = -1;
  std::string op;  // canonical name; "opaque" for opaque nodes
  bool aux = false;
  bool is_view = false;  // moves no bytes: split, view
  std::string stream;    // group and surrounding stream: operators of different ones stay apart
  std::vector<Operand> in;
  std::vector<ir::NodeId> results;
};

struct Use {
  int step = 0;
  int operand = 0;
};

class Sequence {
 public:
  explicit Sequence(const Layer& layer);

  const Layer& layer() const { return *layer_; }
  const ir::Graph& graph() const { return layer_->graph; }
  const std::vector<Step>& steps() const { return steps_; }
  const Step& step(int i) const { return steps_[static_cast<size_t>(i)]; }
  int size() const { return static_cast<int>(steps_.size()); }

  // Who reads result `result` of `step`, or a view of it.
  const std::vector<Use>& Uses(int step, int result) const;
  // All of them, results in order; `split` and `view` count as uses.
  std::vector<Use> Uses(int step) const;

  // Attributes of a step's call; nothing when absent or of another type.
  const ir::AttrValue* Attr(int step, std::string_view name) const;
  std::optional<int64_t> Int(int step, std::string_view name) const;
  std::optional<double> Float(int step, std::string_view name) const;  // integers, too
  std::optional<bool> Bool(int step, std::string_view name) const;
  std::string Word(int step, std::string_view name) const;  // empty when absent
  const ir::Span& span(int step) const;

  // The first operand that is a weight, -1 when there is none.
  int WeightOperand(int step) const;
  const ir::Type& TypeOf(ir::NodeId node) const { return graph().node(node).type; }

 private:
  Operand Resolve(ir::NodeId value) const;
  void AddStep(ir::NodeId call);

  const Layer* layer_;
  std::vector<Step> steps_;
  std::vector<int> step_of_;                         // node -> step, -1
  std::vector<std::vector<std::vector<Use>>> uses_;  // step, result -> uses
};

}  // namespace tenon::fuse
