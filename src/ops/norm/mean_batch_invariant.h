// The axes of a call of mean_batch_invariant.
#pragma once

#include "ops/resolve.h"

namespace tenon::ops::norm {

// x as [kept axes..., reduced axes...]: each mean is over the last `reduced_rank` axes.
struct MeanAxes {
  explicit MeanAxes(const Resolved& call);

  Tensor x;
  int reduced_rank = 0;
  int64_t count = 1;  // elements of one mean

  int kept_rank() const { return x.rank - reduced_rank; }
  Tensor Kept() const;                   // x at index 0 of the reduced axes
  Tensor Reduced(int64_t offset) const;  // the elements of the mean that begins at that element
};

}  // namespace tenon::ops::norm
