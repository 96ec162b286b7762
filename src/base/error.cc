#include "base/error.h"

namespace tenon {

InternalError::InternalError(const char* file, int line, const std::string& what)
    : std::logic_error(fmt::format("internal error at {}:{}: {}", file, line, what)) {}

}  // namespace tenon
