// Predicted time of a chain, unfused and fused, from bytes, flops and the device profile.
#pragma once

#include <string>
#include <vector>

#include "backend/profile.h"
#include "fuse/traffic.h"

namespace tenon::fuse {

class CostModel {
 public:
  // `captured`: launches are replayed from a captured graph and cost less. `profile` outlives this.
  CostModel(const backend::DeviceProfile& profile, DType dtype, bool captured);

  // max(bytes / bandwidth, flops / rate); collectives add their latency. Without the launch.
  double WorkUs(const OpTraffic& op) const;
  double LayerUs(const std::vector<OpTraffic>& ops) const;  // launches included

  // Unfused minus fused. A fused operator that is bound by arithmetic gets no credit for bytes.
  double SavedUs(const Traffic& traffic) const;
  // "2 launches of 1.20 us + 41.94 MB at 4800 GB/s = 11.14 us"
  std::string Arithmetic(const Traffic& traffic) const;

 private:
  double BytesUs(int64_t bytes) const;
  bool IsComputeBound(const Traffic& traffic) const;  // the fused kernel

  const backend::DeviceProfile& profile_;
  double launch_us_;
  double other_launch_us_;  // with the opposite of `captured`
  bool captured_;
  double rate_;  // flops per microsecond
};

}  // namespace tenon::fuse
