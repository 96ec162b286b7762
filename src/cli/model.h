// From an analysis to what `fuse` matches.
#pragma once

#include "analyze/analysis.h"
#include "fuse/model.h"

namespace tenon::cli {

// `sm`: compute capability * 10 on cuda. Overlays without effect become the findings' dead entries.
fuse::Model ToModel(const analyze::Analysis& analysis, int sm);

}  // namespace tenon::cli
