// `tenon fuse`: one chain in, an artefact folder out. fuse.cc lists the stages.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fuse/bench.h"
#include "fuse/check.h"
#include "fuse/opportunity.h"
#include "ir/ir.h"

namespace tenon::fuse {

struct FuseOptions {
  std::filesystem::path output = "tenon-out";  // artefact folders are made in it
  std::optional<DType> storage;                // of T; else the model's, or the function's
  std::vector<int64_t> tokens = {1, 4096};     // token counts of the timing
  ir::Bindings sizes;                          // of names that the chain leaves open
  std::map<std::string, double, std::less<>> scalars;
  int repeats = 9;
  // One line per stage, for people who wait.
  std::function<void(std::string_view line)> progress = [](std::string_view) {};
};

enum class FuseStatus : uint8_t { kFused, kNoGain, kCheckFailed };

struct FuseResult {
  FuseStatus status = FuseStatus::kFused;
  std::string name;
  std::vector<std::string> chain;  // the operators that it replaces
  std::string plan;                // text
  CheckResult check;
  std::vector<Timing> timings;     // empty when the check is red
  std::filesystem::path artefact;  // empty unless status is kFused
  std::string sentence;            // what happened, one line

  bool ok() const { return status == FuseStatus::kFused; }
};

// Opportunity `number` (Opportunity::id) of a report on a model that runs in `dtype`. UsageError
// when there is none of that number, or when it cannot be generated, with the reason.
FuseResult FuseOpportunity(const Findings& findings, int number, DType dtype,
                           const FuseOptions& options);

// A function as analyze::LowerFunction gives it. UsageError with file and line of what a generated
// kernel cannot contain.
FuseResult FuseFunction(const ir::Graph& lowered, const FuseOptions& options);

// Keys: name, status, sentence, chain, artefact, check, timings.
std::string ResultJson(const FuseResult& result);

}  // namespace tenon::fuse
