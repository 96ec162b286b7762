// Calls of equal shapes, strides, types and attributes are resolved once per thread: what is left
// of a repeated call's checks is what depends on pointers.
#pragma once

#include <span>

#include "ops/resolve.h"

namespace tenon::ops {

// Resolve(form, arguments), perhaps remembered. Valid until this thread's next call.
const Resolved& ResolveRepeated(const OperatorForm& form, std::span<const Argument> arguments);

}  // namespace tenon::ops
