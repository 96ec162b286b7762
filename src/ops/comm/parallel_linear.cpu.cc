// Computes  linear with weights that are spread over the ranks of a group, as the contracts say
// Traffic   that of linear, and what the group moves
// Mapping   products run on all threads, the group on the calling one
// Numerics  each rank's product is rounded, then summed in float32 in the order of ranks
// Limits    none
#include "base/dtype.h"
#include "base/error.h"
#include "ops/composition.h"
#include "ops/strided.h"
#include "ops/structural.h"

namespace tenon::ops::comm {
namespace {

// x [rows, parts*width] -> [parts*rows, width] of which the group has exchanged the parts: rank j
// gets the columns j of every rank's rows.
Buffer ExchangeColumns(Communicator& group, const Tensor& x) {
  const int64_t rows = x.sizes[0];
  const int64_t width = x.sizes[1] / group.size();
  const Buffer parts = Fresh(x.dtype, {group.size() * rows, width});
  for (int rank = 0; rank < group.size(); ++rank) {
    CopyStrided(Part(x, 1, rank * width, width), Part(parts.tensor(), 0, rank * rows, rows));
  }
  Buffer received = Fresh(x.dtype, {group.size() * rows, width});
  AllToAll(group, parts.tensor(), received.tensor());
  return received;
}

// A sum over ranks has the bias once.
Argument BiasOfRank0(const Resolved& call, const Communicator& group) {
  return group.rank() == 0 ? Given(call, "bias") : Argument();
}

Buffer Linear(const Argument& x, const Argument& weight, const Argument& bias) {
  const Argument arguments[] = {x, weight, bias};
  return Invoke("linear", arguments)[0];
}

}  // namespace

void RunColumnParallelLinear(const Resolved& call, std::span<const Tensor> outputs) {
  InGroup(call, [&](Communicator& group) {
    const Argument arguments[] = {Given(call, "x"), Given(call, "weight"), Given(call, "bias")};
    if (!FlagOf(call, "gather_output")) {
      Invoke("linear", arguments, outputs);
      return;
    }
    const Buffer own = Invoke("linear", arguments)[0];
    AllGather(group, own.tensor(), outputs[0], outputs[0].rank - 1);
  });
}

void RunAllGatherLinear(const Resolved& call, std::span<const Tensor> outputs) {
  const Tensor& x = call.FindInput("x")->tensor;
  InGroup(call, [&](Communicator& group) {
    const Buffer all = Fresh(x.dtype, {group.size() * x.sizes[0], x.sizes[1]});
    AllGather(group, x, all.tensor(), 0);
    const Argument arguments[] = {all.tensor(), Given(call, "weight"), Given(call, "bias")};
    Invoke("linear", arguments, outputs);
  });
}

void RunRowParallelLinear(const Resolved& call, std::span<const Tensor> outputs) {
  InGroup(call, [&](Communicator& group) {
    Tensor x = call.FindInput("x")->tensor;
    const Tensor& weight = call.FindInput("weight")->tensor;
    const int64_t width = weight.sizes[1];
    if (!FlagOf(call, "input_is_parallel")) x = Part(x, 1, group.rank() * width, width);
    const std::string& reduce = WordOf(call, "reduce");
    const bool has_bias = call.FindInput("bias")->present;
    TENON_CHECK(reduce != "none" || !has_bias || group.size() == 1,
                "bias must be None when reduce is none and there are several ranks");
    const Buffer own = Linear(x, weight, BiasOfRank0(call, group));
    if (reduce == "all_reduce") AllReduce(group, own.tensor(), outputs[0]);
    if (reduce == "reduce_scatter") ReduceScatter(group, own.tensor(), outputs[0], 0);
    if (reduce == "none") CopyStrided(own.tensor(), outputs[0]);
  });
}

void RunOProjRowParallelLinear(const Resolved& call, std::span<const Tensor> outputs) {
  InGroup(call, [&](Communicator& group) {
    const Buffer columns = ExchangeColumns(group, call.FindInput("x")->tensor);
    const Buffer own = Linear(columns.tensor(), Given(call, "weight"), BiasOfRank0(call, group));
    ReduceScatter(group, own.tensor(), outputs[0], 0);
  });
}

void RunLinearAllReduceAddRmsNorm(const Resolved& call, std::span<const Tensor> outputs) {
  InGroup(call, [&](Communicator& group) {
    const Buffer own = Linear(Given(call, "x"), Given(call, "weight"), BiasOfRank0(call, group));
    const auto shape = own.tensor().shape();
    const Buffer sum = Fresh(call.storage, {shape.begin(), shape.end()});
    AllReduce(group, own.tensor(), sum.tensor());
    const Argument arguments[] = {sum.tensor(),
                                  Given(call, "residual"),
                                  Given(call, "norm_weight"),
                                  NumberOf(call, "eps"),
                                  {},
                                  NumberOf(call, "weight_offset")};
    Invoke("fused_add_rms_norm", arguments, outputs);
  });
}

namespace {

// o [rows, heads, head_size] with the last 2*half elements of each head turned back.
Buffer RotatedBack(const Resolved& call) {
  const Tensor& o = call.FindInput("o")->tensor;
  const Tensor& cache = call.FindInput("cos_sin_cache")->tensor;
  const bool is_neox = false;
  const bool inverse = true;
  const Argument arguments[] = {Given(call, "positions"),    o,      {}, o.sizes[2], cache, is_neox,
                                o.sizes[2] - cache.sizes[1], inverse};
  return Invoke("rotary_embedding", arguments)[0];
}

// z[t, g*low_rank + r] = the sum over i of x[t, g*width + i] * wo_a[g, r, i]
Buffer MultiplyGroups(const Tensor& x, const Tensor& wo_a) {
  const int64_t groups = wo_a.sizes[0];
  const int64_t low_rank = wo_a.sizes[1];
  const int64_t width = wo_a.sizes[2];
  Buffer z = Fresh(x.dtype, {x.sizes[0], groups * low_rank});
  for (int64_t g = 0; g < groups; ++g) {
    Tensor weight = Part(wo_a, 0, g, 1);
    weight.rank = 2;
    for (int axis : {0, 1}) {
      weight.sizes[axis] = wo_a.sizes[axis + 1];
      weight.strides[axis] = wo_a.strides[axis + 1];
    }
    const Argument arguments[] = {Part(x, 1, g * width, width), weight};
    const Tensor target = Part(z.tensor(), 1, g * low_rank, low_rank);
    Invoke("linear", arguments, {&target, 1});
  }
  return z;
}

}  // namespace

void RunDsv4OProj(const Resolved& call, std::span<const Tensor> outputs) {
  const bool rotates = call.FindInput("cos_sin_cache")->present;
  TENON_CHECK(rotates == call.FindInput("positions")->present,
              "{}: cos_sin_cache and positions must be given together", call.name());
  const Tensor& given = call.FindInput("o")->tensor;
  Buffer o = Fresh(given.dtype, {given.sizes[0], given.sizes[1], given.sizes[2]});
  if (rotates) {
    o = RotatedBack(call);
  } else {
    CopyStrided(given, o.tensor());
  }
  const int64_t flat[] = {given.sizes[0], given.sizes[1] * given.sizes[2]};
  const bool exchanges = FlagOf(call, "token_exchange");
  InGroup(call, [&](Communicator& group) {
    Tensor x = MakeTensor(o.tensor().data, given.dtype, flat);
    Buffer received = o;
    if (exchanges) {
      received = ExchangeColumns(group, x);
      x = received.tensor();
    }
    const Buffer z = MultiplyGroups(x, call.FindInput("wo_a")->tensor);
    const Buffer own = Linear(z.tensor(), Given(call, "wo_b"), {});
    if (exchanges) {
      ReduceScatter(group, own.tensor(), outputs[0], 0);
    } else {
      AllReduce(group, own.tensor(), outputs[0]);
    }
  });
}

}  // namespace tenon::ops::comm
