// The sizes that a list of numbers stands for.
#pragma once

#include <string_view>
#include <vector>

#include "ops/resolve.h"

namespace tenon::ops {

// Those that the list alone gives.
void AddListSizes(ir::Bindings& sizes, const Param& param, const std::vector<int64_t>& list);

// Those that depend on the rank of this process, once all attributes are known.
void AddRankSizes(Resolved& call, std::string_view name);

}  // namespace tenon::ops
