// What a CI job asks of a report: that it has what was expected, and how it differs from another.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/report.h"

namespace tenon::report {

// `expectations` has a line "SCENE STATUS" for each opportunity that must be there, such as
// "A1 fused"; '#' starts a comment. Returns a sentence for each that is not met. UsageError when a
// line is none of these; `name` is the file that the sentence talks about.
std::vector<std::string> UnmetExpectations(const Report& report, std::string_view expectations,
                                           std::string_view name);

// One line per difference in classes, layers, operators and opportunities: "+" is only in `now`,
// "-" only in `old`.
std::vector<std::string> Differences(const Report& old, const Report& now);

}  // namespace tenon::report
