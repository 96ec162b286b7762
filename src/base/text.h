// Text helpers that error sentences and parsers share.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

// "[2, 4096]"
std::string ShapeText(std::span<const int64_t> shape);

std::vector<std::string> Split(std::string_view text, char separator);
std::string_view Strip(std::string_view text);
std::string Lower(std::string_view text);
std::string Join(std::span<const std::string> parts, std::string_view separator);

// Number of single-character insertions, deletions and substitutions between the two.
int EditDistance(std::string_view a, std::string_view b);

// The at most `limit` candidates within `max_distance` of `name` (case-insensitive), nearest first,
// ties in alphabetical order.
std::vector<std::string> NearestNames(std::string_view name,
                                      std::span<const std::string> candidates, int max_distance = 3,
                                      size_t limit = 5);

}  // namespace tenon
