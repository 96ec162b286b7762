// Where a shard of a vocabulary has an id.
#pragma once

#include <cstdint>

#include "ops/resolve.h"

namespace tenon::ops::embedding {

// Rows: base vocabulary, its padding, added vocabulary.
class Shard {
 public:
  explicit Shard(const Resolved& call)
      : org_start_(Of(call, "org_vocab_start_index")),
        org_end_(Of(call, "org_vocab_end_index")),
        added_start_(Of(call, "added_vocab_start_index")),
        added_end_(Of(call, "added_vocab_end_index")),
        added_row_(org_end_ - org_start_ + Of(call, "num_org_vocab_padding")) {}

  // -1 for ids of other shards.
  int64_t RowOf(int64_t id) const {
    if (id >= org_start_ && id < org_end_) return id - org_start_;
    if (id >= added_start_ && id < added_end_) return id - added_start_ + added_row_;
    return -1;
  }

 private:
  static int64_t Of(const Resolved& call, const char* name) {
    return std::get<int64_t>(call.attributes.at(name));
  }
  int64_t org_start_;
  int64_t org_end_;
  int64_t added_start_;
  int64_t added_end_;
  int64_t added_row_;
};

}  // namespace tenon::ops::embedding
