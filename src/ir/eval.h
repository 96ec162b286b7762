// Evaluation of single nodes, for the interpreter only.
#pragma once

#include <array>
#include <vector>

#include "ir/host_array.h"
#include "ir/ir.h"

namespace tenon::ir {

// A node with its values: `dtype` and `shape` are those of the result.
struct Evaluation {
  const Graph& graph;
  const Node& node;
  DType dtype;
  std::vector<int64_t> shape;
  std::vector<const HostArray*> args;
  const Bindings& sizes;

  const HostArray& arg(size_t i) const { return *args[i]; }
  const Type& arg_type(size_t i) const { return graph.node(node.args[i]).type; }
  HostArray Result() const { return HostArray(dtype, shape); }
};

HostArray EvalElementwise(const Evaluation& e);  // arithmetic, comparison, bits, cast, round
HostArray EvalMovement(const Evaluation& e);     // broadcast ... copy, limit_rows, write_slice
HostArray EvalRows(const Evaluation& e);         // gather_row, scatter_row
HostArray EvalReduce(const Evaluation& e);
HostArray EvalMatmul(const Evaluation& e);

// The nested loops of a node over up to 4 arrays, neighbouring axes joined where all of them walk
// evenly. The last axis is the inner loop.
struct LoopNest {
  static constexpr size_t kMaxArrays = 4;
  std::vector<int64_t> sizes;
  std::vector<std::array<int64_t, kMaxArrays>> strides;  // per axis

  // Adds an axis inside of the present ones.
  void AddAxis(int64_t size, const std::array<int64_t, kMaxArrays>& axis_strides);
  int64_t inner_size() const { return sizes.back(); }
  int64_t inner_stride(size_t array) const { return strides.back()[array]; }

  // Calls body(offsets) once per run of the inner loop.
  template <typename Fn>
  void ForEachRun(Fn&& body) const {
    for (int64_t size : sizes) {
      if (size == 0) return;
    }
    std::vector<int64_t> position(sizes.size(), 0);
    std::array<int64_t, kMaxArrays> offsets{};
    while (true) {
      body(offsets);
      size_t axis = sizes.size() - 1;
      while (true) {
        if (axis == 0) return;
        --axis;
        for (size_t k = 0; k < kMaxArrays; ++k) offsets[k] += strides[axis][k];
        if (++position[axis] < sizes[axis]) break;
        for (size_t k = 0; k < kMaxArrays; ++k) offsets[k] -= sizes[axis] * strides[axis][k];
        position[axis] = 0;
      }
    }
  }
};

// Per axis of `result`, the stride of a dense array of type `arg` and shape `shape`; 0 where the
// argument lacks the axis.
std::vector<int64_t> BroadcastStrides(const Type& arg, const std::vector<int64_t>& shape,
                                      const std::vector<Axis>& result);

// Copies words: out[position] = from[offset + sum of position * stride].
void GatherWords(const std::vector<Word>& from, int64_t offset, const std::vector<int64_t>& strides,
                 const std::vector<int64_t>& shape, Word* out);

}  // namespace tenon::ir
