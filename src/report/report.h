// The report of a model, in four forms made from the same structs: JSON for the next stage and for
// scripts, Markdown and one HTML page for people, annotations for a CI job.
#pragma once

#include <string>
#include <string_view>

#include "analyze/analysis.h"
#include "fuse/opportunity.h"

namespace tenon::report {

struct Report {
  analyze::Analysis analysis;
  fuse::Findings findings;
  std::string device;  // whose profile the times are predicted with
};

// Schema `tenon.analysis/1`, keys in the order of the schema: same report, same bytes.
std::string ToJson(const Report& report);

// The inverse of ToJson. UsageError names the key at fault, or line and column when `text` is no
// JSON; `name` is the file that the sentence talks about.
Report ReadReport(std::string_view text, std::string_view name);

std::string ToMarkdown(const Report& report);

// One page without external resources. Quotes source lines when analysis.source_root is readable.
std::string ToHtml(const Report& report);

// One workflow command a line: a notice per open opportunity, a warning per opaque operator.
std::string ToGithub(const Report& report);

}  // namespace tenon::report
