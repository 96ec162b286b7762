// What a match moves and launches, as operators of their own and as one kernel. Counting is
// ir/cost.h's business; here is what a match means in its terms.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fuse/match.h"
#include "ir/cost.h"

namespace tenon::fuse {

struct OpTraffic {
  ir::Cost cost;
  bool collective = false;
};

struct Traffic {
  ir::Cost before;  // as the operators run today
  ir::Cost after;   // as one kernel
};

// At one number of tokens; nothing when a size is unknown.
std::optional<Traffic> CountTraffic(const Match& match, int64_t tokens);

// The operators of a whole layer at `tokens`; those with unknown sizes are left out.
std::vector<OpTraffic> LayerTraffic(const Sequence& sequence, int64_t tokens);

}  // namespace tenon::fuse
