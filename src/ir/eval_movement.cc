#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "ir/eval.h"

namespace tenon::ir {

void LoopNest::AddAxis(int64_t size, const std::array<int64_t, kMaxArrays>& axis_strides) {
  if (size == 1 && !sizes.empty()) return;
  if (!sizes.empty() && sizes.back() == 1) {
    sizes.back() = size;
    strides.back() = axis_strides;
    return;
  }
  const bool joins = !sizes.empty() && [&] {
    for (size_t k = 0; k < kMaxArrays; ++k) {
      if (strides.back()[k] != axis_strides[k] * size) return false;
    }
    return true;
  }();
  if (joins) {
    sizes.back() *= size;
    strides.back() = axis_strides;
  } else {
    sizes.push_back(size);
    strides.push_back(axis_strides);
  }
}

std::vector<int64_t> BroadcastStrides(const Type& arg, const std::vector<int64_t>& shape,
                                      const std::vector<Axis>& result) {
  const std::vector<int64_t> dense = DenseStrides(shape);
  std::vector<int64_t> strides;
  for (const Axis& axis : result) {
    const int position = arg.FindAxis(axis.name);
    strides.push_back(position < 0 ? 0 : dense[static_cast<size_t>(position)]);
  }
  return strides;
}

void GatherWords(const std::vector<Word>& from, int64_t offset, const std::vector<int64_t>& strides,
                 const std::vector<int64_t>& shape, Word* out) {
  const std::vector<int64_t> dense = DenseStrides(shape);
  LoopNest loops;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    loops.AddAxis(shape[axis], {dense[axis], strides[axis]});
  }
  if (shape.empty()) loops.AddAxis(1, {});
  const Word* source = from.data() + offset;
  const int64_t stride = loops.inner_stride(1);
  loops.ForEachRun([&](const auto& offsets) {
    Word* to = out + offsets[0];
    const Word* row = source + offsets[1];
    for (int64_t i = 0; i < loops.inner_size(); ++i) to[i] = row[i * stride];
  });
}

namespace {

HostArray Broadcast(const Evaluation& e) {
  HostArray result = e.Result();
  GatherWords(e.arg(0).words, 0, BroadcastStrides(e.arg_type(0), e.arg(0).shape, e.node.type.axes),
              e.shape, result.words.data());
  return result;
}

// `size` elements from `offset` on must lie within an axis.
void CheckRange(const Evaluation& e, int64_t offset, int64_t size, int64_t extent) {
  TENON_CHECK(offset >= 0 && offset + size <= extent,
              "{}: elements [{}, {}) do not lie within axis number {} of size {}",
              OpName(e.node.op), offset, offset + size, e.node.dim, extent);
}

HostArray Slice(const Evaluation& e) {
  const auto dim = static_cast<size_t>(e.node.dim);
  const int64_t offset = e.node.offset.Eval(e.sizes);
  CheckRange(e, offset, e.shape[dim], e.arg(0).shape[dim]);
  HostArray result = e.Result();
  const std::vector<int64_t> strides = DenseStrides(e.arg(0).shape);
  GatherWords(e.arg(0).words, offset * strides[dim], strides, e.shape, result.words.data());
  return result;
}

// Writes `part` into elements [offset, offset + its size) of axis `dim` of `whole`.
void WriteInto(HostArray* whole, const HostArray& part, size_t dim, int64_t offset) {
  int64_t inner = 1;
  for (size_t i = dim + 1; i < whole->shape.size(); ++i) inner *= whole->shape[i];
  const int64_t run = part.shape[dim] * inner;
  const int64_t step = whole->shape[dim] * inner;
  const bool widen = whole->is_float() && !part.is_float();
  const int64_t runs = run == 0 ? 0 : part.numel() / run;
  for (int64_t r = 0; r < runs; ++r) {
    const Word* from = part.words.data() + r * run;
    Word* to = whole->words.data() + r * step + offset * inner;
    for (int64_t i = 0; i < run; ++i) {
      to[i] = widen ? Word{.f = static_cast<double>(from[i].i)} : from[i];
    }
  }
}

HostArray Concat(const Evaluation& e) {
  HostArray result = e.Result();
  const auto dim = static_cast<size_t>(e.node.dim);
  int64_t offset = 0;
  for (const HostArray* part : e.args) {
    WriteInto(&result, *part, dim, offset);
    offset += part->shape[dim];
  }
  return result;
}

HostArray WriteSlice(const Evaluation& e) {
  const auto dim = static_cast<size_t>(e.node.dim);
  const int64_t offset = e.node.offset.Eval(e.sizes);
  CheckRange(e, offset, e.arg(1).shape[dim], e.arg(0).shape[dim]);
  HostArray result = e.arg(0);
  WriteInto(&result, e.arg(1), dim, offset);
  return result;
}

HostArray Reshape(const Evaluation& e) {
  TENON_CHECK(NumElements(e.shape) == e.arg(0).numel(),
              "reshape: {} has not as many elements as {}", ShapeText(e.shape),
              ShapeText(e.arg(0).shape));
  HostArray result = e.arg(0);
  result.shape = e.shape;
  result.limit_axis = -1;
  return result;
}

HostArray LimitRows(const Evaluation& e) {
  TENON_CHECK(e.arg(1).numel() == 1, "limit_rows: the count must be one number, got {}",
              ShapeText(e.arg(1).shape));
  HostArray result = e.arg(0);
  result.limit_axis = e.node.dim;
  result.limit = e.arg(1).words[0].i;
  return result;
}

// What to call an argument in a sentence.
std::string ArgName(const Evaluation& e, size_t i) {
  const Node& node = e.graph.node(e.node.args[i]);
  return node.name.empty() ? fmt::format("%{}", e.node.args[i]) : node.name;
}

// The row that an index means, or -1 for none.
int64_t RowOfIndex(const Evaluation& e, int64_t position, int64_t rows) {
  const int64_t index = e.arg(1).words[static_cast<size_t>(position)].i;
  if (index >= 0 && index < rows) return index;
  TENON_CHECK(e.node.index_rule != IndexRule::kError,
              "{}: {}: index {} (element {} of {}) lies outside the {} rows of {}", e.graph.name(),
              OpName(e.node.op), index, position, ArgName(e, 1), rows, ArgName(e, 0));
  if (e.node.index_rule != IndexRule::kClamp || rows == 0) return -1;
  return index < 0 ? 0 : rows - 1;
}

HostArray Gather(const Evaluation& e) {
  HostArray result = e.Result();
  const int64_t rows = e.arg(0).shape[0];
  const int64_t indices = e.arg(1).numel();
  const int64_t width = indices == 0 ? 0 : result.numel() / indices;
  for (int64_t i = 0; i < indices; ++i) {
    const int64_t row = RowOfIndex(e, i, rows);
    if (row < 0) continue;  // reads as zeros
    std::copy_n(e.arg(0).words.data() + row * width, width, result.words.data() + i * width);
  }
  return result;
}

HostArray Scatter(const Evaluation& e) {
  HostArray result = e.arg(0);
  const int64_t rows = result.shape[0];
  const int64_t indices = e.arg(1).numel();
  const int64_t width = indices == 0 ? 0 : e.arg(2).numel() / indices;
  for (int64_t i = 0; i < indices; ++i) {
    const int64_t row = RowOfIndex(e, i, rows);
    if (row < 0) continue;
    std::copy_n(e.arg(2).words.data() + i * width, width, result.words.data() + row * width);
  }
  return result;
}

}  // namespace

HostArray EvalMovement(const Evaluation& e) {
  switch (e.node.op) {
    case Op::kBroadcast:
    case Op::kTranspose:
      return Broadcast(e);
    case Op::kSlice:
      return Slice(e);
    case Op::kConcat:
      return Concat(e);
    case Op::kReshape:
      return Reshape(e);
    case Op::kCopy:
      return e.arg(0);
    case Op::kWriteSlice:
      return WriteSlice(e);
    case Op::kLimitRows:
      return LimitRows(e);
    default:
      throw InternalError(__FILE__, __LINE__, "not a movement");
  }
}

HostArray EvalRows(const Evaluation& e) {
  return e.node.op == Op::kGatherRow ? Gather(e) : Scatter(e);
}

}  // namespace tenon::ir
