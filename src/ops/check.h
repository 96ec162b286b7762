// Has a kernel computed a case rightly? Tests ask this of every kernel, and no bench prints a time
// before it has asked.
#pragma once

#include <string>

#include "ops/case.h"

namespace tenon::ops {

// What differs between the outputs of a case whose kernel has run and the reference; empty when all
// is within the documented tolerances (compare.h).
std::string DeviationFromReference(const Case& test);

}  // namespace tenon::ops
