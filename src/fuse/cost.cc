#include "fuse/cost.h"

#include <algorithm>

#include "base/error.h"

namespace tenon::fuse {

using backend::DeviceProfile;

namespace {

double LaunchOf(const DeviceProfile& profile, bool captured) {
  return captured ? profile.captured_launch_us.value : profile.launch_us.value;
}

// Products run on matrix units where the element type has one.
double RateOf(const DeviceProfile& profile, DType dtype) {
  const auto matrix = profile.matrix_gflops.find(dtype);
  const double gflops =
      matrix != profile.matrix_gflops.end() ? matrix->second.value : profile.vector_gflops.value;
  return gflops * 1e3;  // per microsecond
}

}  // namespace

CostModel::CostModel(const DeviceProfile& profile, DType dtype, bool captured)
    : profile_(profile),
      launch_us_(LaunchOf(profile, captured)),
      other_launch_us_(LaunchOf(profile, !captured)),
      captured_(captured),
      rate_(RateOf(profile, dtype)) {}

double CostModel::BytesUs(int64_t bytes) const {
  return static_cast<double>(bytes) / (profile_.copy_gb_per_s.value * 1e3);
}

double CostModel::WorkUs(const OpTraffic& op) const {
  const double work = std::max(BytesUs(op.cost.bytes()), op.cost.flops / rate_);
  if (!op.collective) return work;
  const double link = profile_.link_gb_per_s ? profile_.link_gb_per_s->value : 0;
  const double fixed = profile_.collective_us ? profile_.collective_us->value : 0;
  return std::max(work,
                  fixed + (link > 0 ? static_cast<double>(op.cost.bytes()) / (link * 1e3) : 0));
}

double CostModel::LayerUs(const std::vector<OpTraffic>& ops) const {
  double sum = 0;
  for (const OpTraffic& op : ops) sum += WorkUs(op) + op.cost.launches * launch_us_;
  return sum;
}

bool CostModel::IsComputeBound(const Traffic& traffic) const {
  return traffic.after.flops / rate_ > BytesUs(traffic.after.bytes());
}

double CostModel::SavedUs(const Traffic& traffic) const {
  const double launches = (traffic.before.launches - traffic.after.launches) * launch_us_;
  if (IsComputeBound(traffic)) return launches;
  return launches + BytesUs(traffic.before.bytes() - traffic.after.bytes());
}

std::string CostModel::Arithmetic(const Traffic& traffic) const {
  const int launches = traffic.before.launches - traffic.after.launches;
  const int64_t bytes = traffic.before.bytes() - traffic.after.bytes();
  std::string text =
      fmt::format("{} launch{} of {:.2f} us", launches, launches == 1 ? "" : "es", launch_us_);
  if (other_launch_us_ != launch_us_) {
    text += fmt::format(" ({:.2f} us {})", other_launch_us_,
                        captured_ ? "without a captured graph" : "in a captured graph");
  }
  text += IsComputeBound(traffic)
              ? fmt::format(" + no credit for {:.2f} MB, arithmetic bounds the fused kernel",
                            static_cast<double>(bytes) / 1e6)
              : fmt::format(" + {:.2f} MB at {:.0f} GB/s", static_cast<double>(bytes) / 1e6,
                            profile_.copy_gb_per_s.value);
  return text + fmt::format(" = {:.2f} us", SavedUs(traffic));
}

}  // namespace tenon::fuse
