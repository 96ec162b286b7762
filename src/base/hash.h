// The one hash of cache keys and artefact names.
#pragma once

#include <string>
#include <string_view>

namespace tenon {

// 128 bits of XXH3, as 32 hexadecimal digits.
std::string HashHex(std::string_view text);

}  // namespace tenon
