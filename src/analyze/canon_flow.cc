#include <algorithm>

#include "analyze/canon.h"

namespace tenon::analyze {

DataFlow::DataFlow(const std::vector<TracedOp>& ops) {
  for (size_t i = 0; i < ops.size(); ++i) {
    for (const TensorUse& use : ops[i].op.in) {
      std::vector<int>& list = consumers_[use.id];
      if (list.empty() || list.back() != static_cast<int>(i)) list.push_back(static_cast<int>(i));
    }
    for (const TensorUse& use : ops[i].op.out) producers_[use.id] = static_cast<int>(i);
  }
}

int DataFlow::Producer(int id) const {
  const auto found = producers_.find(id);
  return found == producers_.end() ? -1 : found->second;
}

const std::vector<int>& DataFlow::Consumers(int id) const {
  static const std::vector<int> none;
  const auto found = consumers_.find(id);
  return found == consumers_.end() ? none : found->second;
}

int DataFlow::ProducerOf(const TracedOp& op, size_t input) const {
  return input < op.op.in.size() ? Producer(op.op.in[input].id) : -1;
}

int DataFlow::OnlyConsumer(const TracedOp& op) const {
  if (op.op.out.empty()) return -1;
  const std::vector<int>& consumers = Consumers(op.op.out[0].id);
  return consumers.size() == 1 ? consumers[0] : -1;
}

const Attr* FindAttr(const Op& op, std::string_view key) { return op.Find(key); }

void SetAttr(Op* op, const std::string& key, Attr value) {
  for (auto& [known, old] : op->attrs) {
    if (known != key) continue;
    old = std::move(value);
    return;
  }
  op->attrs.emplace_back(key, std::move(value));
}

void RemoveAttr(Op* op, std::string_view key) {
  std::erase_if(op->attrs, [&](const auto& attr) { return attr.first == key; });
}

}  // namespace tenon::analyze
