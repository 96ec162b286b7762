// Text forms of the stages, for --dump.
#pragma once

#include <string>
#include <string_view>

#include "analyze/session.h"

namespace tenon::analyze {

std::string DumpStage(const Session& session, std::string_view stage);

}  // namespace tenon::analyze
