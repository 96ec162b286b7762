// What a chain moves and launches, as operators of their own and as one kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fuse/match.h"

namespace tenon::fuse {

// One matched operator at one number of tokens.
struct OpTraffic {
  std::string op;
  int64_t bytes = 0;
  int64_t flops = 0;
  int launches = 0;
  bool collective = false;
};

struct Traffic {
  std::vector<OpTraffic> ops;  // as they run today
  int64_t bytes_after = 0;     // of the fused kernel
  int launches_before = 0;
  int launches_after = 1;

  int64_t bytes_before() const;
  int64_t flops() const;
};

// Nothing when a size is unknown. Intermediate values that only the chain reads are neither written
// nor read back; a tensor that several operators read is read once.
std::optional<Traffic> CountTraffic(const Match& match, int64_t tokens);

// Bytes and flops of a whole layer at `tokens`: operators with unknown sizes are left out.
std::vector<OpTraffic> LayerTraffic(const Sequence& sequence, int64_t tokens);

}  // namespace tenon::fuse
