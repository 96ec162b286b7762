// Words and bodies of one match: what the report quotes and `tenon fuse` takes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fuse/match.h"
#include "ir/ir.h"

namespace tenon::fuse {

// The body of the fused operator, calls of registry operators kept. UsageError where an operator of
// the chain has none.
ir::Graph ComposeMatch(const Match& match, const Model& model);

// The scene's Python signature, wrapped, with shapes and element types of this model as comments.
std::string InterfaceText(const Match& match, const ir::Graph* body, const Model& model);

std::vector<FileLines> FilesOf(const Match& match);
std::vector<int> OpsOf(const Match& match);

}  // namespace tenon::fuse
