// From the operators of a model to the fusions that they allow on a device.
#pragma once

#include <string>

#include "report/report.h"

namespace tenon::cli {

// The profile that times are predicted with when the user names none.
std::string DefaultDevice(const std::string& platform);

// A report of `analysis` on the device. `sm` is the compute capability times 10 on cuda.
report::Report MakeReport(analyze::Analysis analysis, int sm, const std::string& device);

}  // namespace tenon::cli
