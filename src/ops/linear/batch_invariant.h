// Products whose order of additions is part of the contract (backend/cpu/dot.h).
#pragma once

#include <span>

#include "ops/resolve.h"

namespace tenon::ops::linear {

// The references, in that very order.
void ComputeBatchInvariant(const Resolved& call, std::span<const Tensor> outputs);
void ComputeAddmmBatchInvariant(const Resolved& call, std::span<const Tensor> outputs);

// One matrix product of a call: a [m, k] and b [n, k] (transposed where the operator has [k, n]).
struct Product {
  Tensor a;
  Tensor b;
  Tensor y;  // [m, n]
};

// Those of linear (one), matmul and bmm (one for each index of the leading axes).
std::vector<Product> ProductsOf(const Resolved& call, const Tensor& y);

}  // namespace tenon::ops::linear
