// How layers, shapes, bytes and times are worded, the same in every form of the report.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/report.h"

namespace tenon::report {

// "0-2, 5"; "none" when empty.
std::string LayersText(const std::vector<int>& layers);
std::string BytesText(int64_t bytes);
std::string TimeText(double us);
// "[T, 4096] → [T, 6144]": operands that are no weights, then results.
std::string ShapesText(const analyze::Op& op);
// Bytes read and written for `tokens` tokens; nothing when a size is unknown.
std::optional<int64_t> OpBytes(const analyze::Op& op, int64_t tokens);
// "rms_norm → rotary_embedding" (the arrow is given), in the order of execution.
std::string ChainText(const Report& report, const fuse::Opportunity& opportunity,
                      std::string_view arrow);
// The name in "def name(...)" of the interface, else the title.
std::string TargetName(const fuse::Opportunity& opportunity);
// Three stars for priority 1.
std::string Stars(const std::optional<int>& priority);
// "1.20 us / 35.0 us": time saved a layer at each token count.
std::string SavedText(const fuse::Opportunity& opportunity);

const analyze::Variant* FindVariant(const Report& report, int id);
const analyze::Op* FindOp(const analyze::Variant& variant, int i);
// The operators that an opportunity names, of its variant and of the following layer.
std::vector<const analyze::Op*> OpsOf(const Report& report, const fuse::Opportunity& opportunity);
// Operators of a variant that run fused today.
std::set<int> FusedOps(const Report& report, const analyze::Variant& variant);
// Status -> number of opportunities.
std::map<std::string, int> CountByStatus(const Report& report);

// The architecture, or the target's own name when it was asked for by name.
std::string Title(const Report& report);

// `condition` of a benefit is "when there is no gain", or that, " | " and the arithmetic.
std::pair<std::string, std::string> ConditionAndArithmetic(const fuse::Benefit& benefit);

// What people are asked to act on, as against what is only stated.
bool IsProposed(const fuse::Opportunity& opportunity);

}  // namespace tenon::report
