// The two halves of the translation table: operators of the registry (translate.cc) and primitive
// tensor operators (primitives.cc).
#pragma once

#include <string_view>

#include "fuse/compose.h"

namespace tenon::fuse {

Translation FindPrimitive(std::string_view op);  // null when there is none

// The last axis as [heads, head_dim], unless it is one head already.
ir::Value SplitHeads(ir::Value x, const ir::Dim& head_dim, std::string_view heads);

}  // namespace tenon::fuse
