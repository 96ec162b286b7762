// Stage `overlay`: what is known about the platform and the deployment.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/analyze.h"

namespace tenon::analyze {

struct Platform {
  std::string name;  // cuda, rocm, xpu, cpu, ascend
  int sm = 90;
  int tp = 2;
  std::string dtype;
  int64_t max_tokens = 4096;  // the larger token count decides branches on T
  std::vector<int64_t> tokens;
  std::map<std::string, Attr> facts;  // "is_cuda" -> true; "platform.x" of --set

  // Whether `import <root>` succeeds.
  bool Installed(std::string_view root) const;
};

// Throws UsageError for an unknown platform or dtype, or a --set without '='.
Platform MakePlatform(const AnalyzeOptions& options);

// "key=value" with value as JSON when it is JSON, else a string.
std::pair<std::string, Attr> ParseSet(const std::string& text);

}  // namespace tenon::analyze
