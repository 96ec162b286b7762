// Computes  y[t] = weight[row of input_ids[t]], or zeros for ids of other shards
// Traffic   reads one row of weight per id of this shard, writes y once
// Mapping   tokens over threads
// Numerics  bits are copied
// Limits    none
#include <algorithm>
#include <cstring>

#include "backend/cpu/parallel.h"
#include "base/dtype.h"
#include "base/error.h"
#include "ops/embedding/shard.h"
#include "ops/strided.h"
#include "ops/structural.h"

namespace tenon::ops::embedding {
void LookUp(const Resolved& call, std::span<const Tensor> outputs) {
  const Tensor& ids = call.inputs[0].view;
  const Tensor& weight = call.inputs[1].tensor;
  const Shard shard(call);
  std::vector<int64_t> rows;
  ForEachElement(ids, [&](int64_t offset) {
    const int64_t row = shard.RowOf(ids.dtype == DType::kI32 ? ids.ptr<int32_t>()[offset]
                                                             : ids.ptr<int64_t>()[offset]);
    TENON_CHECK(row < weight.sizes[0],
                "{}: weight must have more than {} rows for input_ids, got {}", call.name(), row,
                weight.sizes[0]);
    rows.push_back(row);
  });
  std::vector<int64_t> targets;  // offset of each row of y
  Tensor heads = outputs[0];
  heads.sizes[heads.rank - 1] = 1;
  ForEachElement(heads, [&](int64_t offset) { targets.push_back(offset); });
  const int64_t item = ItemSize(weight.dtype);
  const int64_t width = weight.sizes[1];
  const int64_t from_step = weight.strides[1];
  const int64_t to_step = outputs[0].stride(-1);
  const bool dense = from_step == 1 && to_step == 1;
  constexpr int64_t kBytesPerThread = 128 << 10;  // as row_driver.cc
  const int64_t grain = std::max<int64_t>(1, kBytesPerThread / std::max<int64_t>(width * item, 1));
  const auto count = static_cast<int64_t>(rows.size());
  cpu::ParallelFor(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t row = rows[static_cast<size_t>(t)];
      char* to = outputs[0].ptr<char>() + targets[static_cast<size_t>(t)] * item;
      const char* from =
          weight.ptr<const char>() + std::max<int64_t>(row, 0) * weight.strides[0] * item;
      if (dense) {
        if (row < 0) std::memset(to, 0, static_cast<size_t>(width * item));
        if (row >= 0) std::memcpy(to, from, static_cast<size_t>(width * item));
        continue;
      }
      for (int64_t i = 0; i < width; ++i, to += to_step * item, from += from_step * item) {
        if (row < 0) std::memset(to, 0, static_cast<size_t>(item));
        if (row >= 0) std::memcpy(to, from, static_cast<size_t>(item));
      }
    }
  });
}

}  // namespace tenon::ops::embedding
