#include "cli/findings.h"

#include "backend/profile.h"
#include "cli/model.h"
#include "fuse/find.h"

namespace tenon::cli {

std::string DefaultDevice(const std::string& platform) {
  if (platform == "cpu") return "cpu";
  return platform == "ascend" ? "ascend910b" : "h200";
}

report::Report MakeReport(analyze::Analysis analysis, int sm, const std::string& device) {
  const backend::DeviceProfile profile = backend::FindProfile(device);
  report::Report report;
  report.findings = fuse::FindFusions(ToModel(analysis, sm), profile);
  report.analysis = std::move(analysis);
  report.device = profile.name;
  return report;
}

}  // namespace tenon::cli
