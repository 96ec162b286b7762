// A small report that has something in every section.
#pragma once

#include "report/report.h"

namespace tenon::report {

Report TinyReport();

}  // namespace tenon::report
