// What operators that call others and the ranks of a group are made of.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "ops/resolve.h"
#include "tenon/comm.h"
#include "tenon/op.h"

namespace tenon::ops {

// Calls another operator from within one: not through the cache of calls, where the outer call
// lies.
void Invoke(std::string_view op, std::span<const Argument> arguments,
            std::span<const Tensor> results);
std::vector<Buffer> Invoke(std::string_view op, std::span<const Argument> arguments);
// What the other operator refuses is said in this one's name.
void InvokeFor(const Resolved& call, std::string_view op, std::span<const Argument> arguments,
               std::span<const Tensor> results);

// Runs fn with the call's group, which must have `world_size` ranks where the operator has that
// argument. What the group refuses is said in the operator's name.
void InGroup(const Resolved& call, const std::function<void(Communicator& group)>& fn);

Argument Given(const Resolved& call, std::string_view tensor);  // None when it is not there

// A result as the caller has it: an axis that the contract sees last is back in its place.
Tensor AsGiven(const Resolved& call, const Tensor& output);

Tensor Part(Tensor tensor, int axis, int64_t begin, int64_t count);
Buffer Fresh(DType dtype, std::vector<int64_t> shape);

// The collectives on tensors of any strides. Ranks' parts lie one after another along the axis.
void AllReduce(Communicator& group, const Tensor& x, const Tensor& y);
void AllGather(Communicator& group, const Tensor& x, const Tensor& y, int axis);
void ReduceScatter(Communicator& group, const Tensor& x, const Tensor& y, int axis);
void AllToAll(Communicator& group, const Tensor& x, const Tensor& y);  // along the first axis

}  // namespace tenon::ops
