// Passes over the operators of one layer call (or of the part outside the layers): written-out
// norms, activations on halves, roles of projections, merged q and k norms.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analyze/tracer.h"

namespace tenon::analyze {

struct CanonContext {
  int tp = 1;
  int64_t hidden_size = 0;
};

// Producers and consumers of the tensors of a list. Positions are indices into it.
class DataFlow {
 public:
  explicit DataFlow(const std::vector<TracedOp>& ops);

  int Producer(int id) const;  // -1: an input of the list
  const std::vector<int>& Consumers(int id) const;
  int ProducerOf(const TracedOp& op, size_t input) const;  // of its input, -1
  // The only consumer of the operator's first output, or -1.
  int OnlyConsumer(const TracedOp& op) const;

 private:
  std::map<int, int> producers_;
  std::map<int, std::vector<int>> consumers_;
};

void RecogniseNorms(std::vector<TracedOp>* ops);                                // canon_norms.cc
void RecogniseActivations(std::vector<TracedOp>* ops);                          // canon_norms.cc
void NameProjections(std::vector<TracedOp>* ops, const CanonContext& context);  // canon_roles.cc
void MergeQkNorms(std::vector<TracedOp>* ops, const CanonContext& context);     // canon_roles.cc
void CountBytes(std::vector<TracedOp>* ops);                                    // canon_cost.cc

const Attr* FindAttr(const Op& op, std::string_view key);
void SetAttr(Op* op, const std::string& key, Attr value);
void RemoveAttr(Op* op, std::string_view key);

}  // namespace tenon::analyze
