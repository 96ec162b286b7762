// The drawn parts of the HTML page.
#pragma once

#include <string>
#include <string_view>

#include "report/words.h"

namespace tenon::report {

// Text between tags and in quoted attributes.
std::string HtmlText(std::string_view text);

// "norm", "matmul", "attention" ...: the class that colours an operator.
std::string_view OpFamily(std::string_view op);

// One box an operator from top to bottom, curves for tensors that skip operators (the residual
// stream), numbered bars at the left for proposed opportunities.
std::string PathSvg(const Report& report, const analyze::Variant& variant);

// Bytes of each operator, before and after the proposed opportunities.
std::string ByteBars(const Report& report, const analyze::Variant& variant, int64_t tokens);

// Lines `line - before` to `line + after` of a source file with numbers, `line` marked. Empty when
// the file cannot be read.
std::string Excerpt(const Report& report, const std::string& file, int line, int before, int after);

extern const std::string_view kStyle;

}  // namespace tenon::report
