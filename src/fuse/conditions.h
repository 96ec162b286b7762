// The side conditions that scenes name: each is a question about one match.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "fuse/match.h"

namespace tenon::fuse {

// Nothing when the condition holds, else a sentence with what was found. An unknown name is an
// InternalError: the table and the conditions are tested together.
std::optional<std::string> Violation(std::string_view condition, const Match& match,
                                     const Model& model);

// The first of `conditions` that does not hold, as its sentence.
std::optional<std::string> FirstViolation(std::span<const std::string_view> conditions,
                                          const Match& match, const Model& model);

// The names that Violation knows, sorted.
std::vector<std::string_view> ConditionNames();

}  // namespace tenon::fuse
