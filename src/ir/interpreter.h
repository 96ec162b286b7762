// The reference of everything: evaluates a graph in float64.
//
// Float values are float64 and are rounded only by round and cast nodes, so the result is that of
// the operator's body with exact-enough arithmetic; what a kernel returns is compared with it.
// Functions (exp, erf ...) are those of the C library, in float64. Integers are int64, wrapped to
// the node's type after every operation. Float attributes and constants are rounded to float32
// first, because a kernel holds them so. Reductions go in order of index; over an empty axis sum is
// 0, mean NaN, amax 0, and max, min and argmax raise. amax that does not propagate NaN skips it: a
// row of only NaN gives 0. argmax returns the first of equal elements, and NaN counts as largest
// when it propagates. Of several rows scattered to one index, the last stays.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/host_array.h"
#include "ir/ir.h"

namespace tenon::ir {

// The reference of an operator that a graph calls. Arguments and results are dense tensors in
// storage precision, as between two operators that run one after the other.
using CallFunction =
    std::function<void(const std::map<std::string, AttrValue>& attributes,
                       std::span<const Tensor> args, std::span<const Tensor> results)>;
using CallTable = std::map<std::string, CallFunction, std::less<>>;

struct RunInputs {
  std::map<std::string, std::optional<Tensor>> tensors;  // absent optional inputs: none or no entry
  std::map<std::string, AttrValue> attributes;
  Bindings sizes;               // those that neither an attribute nor a tensor's shape gives
  DType storage = DType::kF32;  // what T is
  const CallTable* calls = nullptr;
};

// Every size of the graph: `inputs.sizes`, then integer attributes of a size's name, then what the
// tensors' shapes determine; sizes that occur only in absent optional inputs are 1. UsageError
// naming the input when a tensor does not fit.
Bindings BindSizes(const Graph& graph, const RunInputs& inputs);

// The outputs in order, with float values before rounding to the output's element type.
std::vector<HostArray> Interpret(const Graph& graph, const RunInputs& inputs);

// The same, stored to tensors of the outputs' shapes and dtypes, of any strides. All outputs are
// complete before anything is written: they may be the inputs' memory. Unspecified rows
// (limit_rows) are not written.
void Interpret(const Graph& graph, const RunInputs& inputs, std::span<const Tensor> outputs);

}  // namespace tenon::ir
