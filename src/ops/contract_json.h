// The contracts as text, for other languages: Python's signatures and shape functions come from it.
#pragma once

#include <string>

namespace tenon::ops {

// A JSON list with one object per operator, in alphabetical order.
std::string ContractsJson();

}  // namespace tenon::ops
