// What the files that hold rows of the pattern table share.
#pragma once

#include <string_view>
#include <vector>

#include "fuse/scenes.h"

namespace tenon::fuse {

std::vector<Scene> MatMulScenes();  // scenes_matmul.cc
std::vector<Scene> MoeScenes();

// The rows, all of one type.
std::vector<Scene> OfType(std::string_view type, std::vector<Scene> rows);

// A row that only recognises what a kernel or layer named `by` does everywhere.
Scene Fused(std::string_view id, std::string_view chain, std::string_view title,
            std::string_view by);

}  // namespace tenon::fuse
