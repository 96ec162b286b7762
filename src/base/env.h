// Every environment variable that Tenon reads: one table, read once, printed by `tenon doctor`.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tenon {

struct EnvVariable {
  std::string_view name;
  std::string_view meaning;
};

std::span<const EnvVariable> EnvTable();

// The value, or `fallback` when unset or empty. The name must be in the table.
std::string EnvValue(std::string_view name, std::string_view fallback = "");

// Whether $TENON_LOG names the topic.
bool LogsTopic(std::string_view topic);

// $TENON_CACHE_DIR, else $XDG_CACHE_HOME/tenon, else ~/.cache/tenon.
std::string CacheDir();

}  // namespace tenon
