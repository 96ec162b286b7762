// What a generated row-wise CPU kernel is called with, and how the library lists its kernels.
// Written by the emitter's text, read by ops (library kernels) and fuse (kernels made at run time).
#pragma once

#include <cstdint>

#include "tenon/tensor.h"

namespace tenon::cpu {

inline constexpr int kMaxRowAxes = 4;

// How a kernel reads an argument.
enum class RowRole : uint8_t {
  kRow,    // has the axis `tokens`; element type T or concrete; unit stride along its last axis
  kParam,  // no axis `tokens`: contiguous float32 with the body's axes, widened by the caller
  kTable,  // rows fetched one at a time and widened by the kernel; f32, f16 or bf16
  kIndex,  // integers per token; i32 or i64
};

// One tensor, in elements. strides[0] is that of `tokens` (of the table's rows for kTable); the
// others follow the body's axes. The last axis has stride 1 unless it is `tokens`.
struct RowTensor {
  void* data = nullptr;  // null: an optional tensor that is not there
  DType dtype = DType::kF32;
  int64_t strides[kMaxRowAxes] = {};
};

struct RowCall {
  const RowTensor* tensors;  // in the order of RowKernel::tensors
  const int64_t* sizes;      // in the order of RowKernel::sizes
  const float* scalars;      // in the order of RowKernel::scalars; booleans are 0 or 1
  bool stream;               // outputs go past the caches where they are vector-aligned
  bool next_row;             // a row's last loop asks for the row that follows
};

// Computes the rows [begin, end) of axis `tokens`.
using RowFn = void (*)(const RowCall& call, int64_t begin, int64_t end);

struct RowTensorInfo {
  const char* name;
  RowRole role;
  bool is_output;
  bool per_row;             // has the row axis
  bool may_be_one = false;  // kParam: with a stride of 0 it is one number for all lanes
};

// A table whose rows are picked by an index tensor: positions in RowKernel::tensors. The caller
// checks that every index lies within the table.
struct RowTableInfo {
  int table;
  int index;
};

// A kernel of one body. `fns[target][storage]` is null where the target is not compiled; targets
// as in backend/cpu/targets.h, storage in the order f32, f16, bf16.
inline constexpr int kMaxTargets = 4;
struct RowKernel {
  const char* op;       // contract name
  const char* variant;  // static choices, "is_neox=true"; empty when there are none
  const RowTensorInfo* tensors;
  int num_tensors;
  const char* const* sizes;
  int num_sizes;
  const char* const* scalars;
  int num_scalars;
  const RowTableInfo* tables;
  int num_tables;
  RowFn fns[kMaxTargets][3];
};

}  // namespace tenon::cpu
