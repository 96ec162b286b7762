#include "ops/list_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "tenon/comm.h"

namespace tenon::ops {

void AddListSizes(ir::Bindings& sizes, const Param& param, const std::vector<int64_t>& list) {
  if (param.length == Param::kAnyLength) {
    sizes[param.name + "_count"] = static_cast<int64_t>(list.size());
    sizes[param.name + "_sum"] = std::accumulate(list.begin(), list.end(), int64_t{0});
    sizes[param.name + "_max"] = list.empty() ? 0 : *std::max_element(list.begin(), list.end());
    sizes[param.name + "_empty"] = list.empty() ? 1 : 0;
    return;
  }
  for (size_t i = 0; i < list.size(); ++i) sizes[fmt::format("{}_{}", param.name, i)] = list[i];
}

void AddRankSizes(Resolved& call, std::string_view name) {
  for (const Param& param : call.op->contract().params()) {
    if (!param.per_rank) continue;
    const auto& list = std::get<std::vector<int64_t>>(call.attributes.at(param.name));
    const int64_t ranks = call.sizes.at("world_size");
    const bool each = static_cast<int64_t>(list.size()) == ranks;
    const auto& group = std::get<std::string>(call.attributes.at("group_name"));
    const int rank = each && ranks > 1 ? FindGroup(group)->rank() : 0;
    TENON_CHECK(rank < ranks, "{}: world_size must be the number of ranks of group \"{}\", got {}",
                name, group, ranks);
    call.sizes[param.name + "_each"] = each ? 1 : 0;
    call.sizes[param.name + "_own"] = each ? list[static_cast<size_t>(rank)] : 0;
  }
}

}  // namespace tenon::ops
