// The number of rows that a call computes (Contract::LimitRows).
#pragma once

#include <cstdint>

#include "ops/resolve.h"

namespace tenon::ops {

// The largest number when no tensor limits them. UsageError when it counts more than there are.
int64_t RowsToCompute(const Resolved& call);

}  // namespace tenon::ops
