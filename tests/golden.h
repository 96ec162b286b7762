// Golden files: expected texts that lie beside the test that produces them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/env.h"
#include "base/error.h"
#include "base/files.h"

namespace tenon {

// Compares `text` with tests/<path>; with TENON_REGEN_GOLDEN=1 writes the file instead (by
// tools/regen_golden; the diff is then reviewed like any other).
inline void ExpectGolden(std::string_view path, std::string_view text) {
  const auto file = std::filesystem::path(TENON_SOURCE_DIR) / "tests" / path;
  if (EnvValue("TENON_REGEN_GOLDEN") == "1") {
    WriteFile(file, text);
    return;
  }
  ASSERT_TRUE(std::filesystem::exists(file))
      << "tests/" << path << " is missing: run tools/regen_golden and review what it writes";
  const std::string expected = ReadFile(file);
  if (expected == text) return;
  size_t at = 0;
  while (at < expected.size() && at < text.size() && expected[at] == text[at]) ++at;
  const auto line = std::count(expected.begin(), expected.begin() + at, '\n') + 1;
  const auto around = [at](std::string_view whole) {
    const size_t begin = at < 60 ? 0 : at - 60;
    return std::string(whole.substr(begin, 160));
  };
  ADD_FAILURE() << "tests/" << path << " differs from line " << line << " on (tools/regen_golden "
                << "rewrites it)\n--- expected\n"
                << around(expected) << "\n--- got\n"
                << around(text);
}

}  // namespace tenon
