// The headers that generated kernels include, embedded so that `tenon fuse` needs no source tree.
// Highway's own come from the system.
#pragma once

#include <span>
#include <string_view>

namespace tenon::fuse {

struct RuntimeHeader {
  std::string_view name;  // as in #include "..."
  std::string_view text;
};

std::span<const RuntimeHeader> RuntimeHeaders();

}  // namespace tenon::fuse
