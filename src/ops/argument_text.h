// Words for arguments, in the sentences that refuse them.
#pragma once

#include <string>
#include <string_view>

#include "ops/contract.h"
#include "tenon/op.h"

namespace tenon::ops {

std::string ArgumentText(const Argument& argument);  // "a tensor f32[2, 3]", "None", "0.5"
std::string_view ExpectedKind(const Param& param);   // "a tensor", "an int"

}  // namespace tenon::ops
