#include "ops/composition.h"

#include <algorithm>
#include <optional>

#include "base/dtype.h"
#include "base/error.h"
#include "ops/dense.h"
#include "ops/dispatch.h"

namespace tenon::ops {
namespace {

// A tensor as one piece of memory: itself, or a copy that lives as long as this.
class Dense {
 public:
  explicit Dense(const Tensor& tensor) : tensor_(tensor) {
    if (IsContiguous(tensor)) return;
    copy_ = DenseCopy(tensor, tensor.dtype);
    tensor_ = copy_->tensor();
  }
  const void* data() const { return tensor_.data; }

 private:
  std::optional<Buffer> copy_;
  Tensor tensor_;
};

// Memory in one piece that becomes the contents of a tensor.
class DenseTarget {
 public:
  explicit DenseTarget(const Tensor& tensor) : tensor_(tensor) {
    if (!IsContiguous(tensor)) copy_ = Fresh(tensor.dtype, {tensor.numel()});
  }
  void* data() const { return copy_ ? copy_->tensor().data : tensor_.data; }
  void Finish() const {
    if (!copy_) return;
    CopyStrided(MakeTensor(copy_->tensor().data, tensor_.dtype, tensor_.shape()), tensor_);
  }

 private:
  std::optional<Buffer> copy_;
  Tensor tensor_;
};

// Slices along the axis are one after another in memory.
bool SlicesInOrder(const Tensor& tensor, int axis) {
  int64_t before = 1;
  for (int i = 0; i < axis; ++i) before *= tensor.sizes[i];
  return before == 1 && IsContiguous(tensor);
}

}  // namespace

void Invoke(std::string_view op, std::span<const Argument> arguments,
            std::span<const Tensor> results) {
  const Resolved call = Resolve(FindOperator(op), arguments);
  Dispatch(call, OutputViews(call, results));
}

std::vector<Buffer> Invoke(std::string_view op, std::span<const Argument> arguments) {
  const Resolved call = Resolve(FindOperator(op), arguments);
  std::vector<Buffer> buffers;
  std::vector<Tensor> results;
  for (const BoundOutput& output : call.outputs) {
    results.push_back(buffers.emplace_back(output.spec).tensor());
  }
  Dispatch(call, OutputViews(call, results));
  return buffers;
}

void InvokeFor(const Resolved& call, std::string_view op, std::span<const Argument> arguments,
               std::span<const Tensor> results) {
  try {
    Invoke(op, arguments, results);
  } catch (const UsageError& e) {
    throw UsageError(fmt::format("{}: {}", call.name(), e.what()));
  }
}

void InGroup(const Resolved& call, const std::function<void(Communicator& group)>& fn) {
  try {
    const std::string& name = WordOf(call, "group_name");
    const std::shared_ptr<Communicator> group = FindGroup(name);
    const auto world_size = call.attributes.find("world_size");
    if (world_size != call.attributes.end()) {
      const int64_t expected = std::get<int64_t>(world_size->second);
      TENON_CHECK(expected == group->size(),
                  "world_size must be {}, the number of ranks of group \"{}\", got {}",
                  group->size(), name, expected);
    }
    fn(*group);
  } catch (const UsageError& e) {
    throw UsageError(fmt::format("{}: {}", call.name(), e.what()));
  }
}

Argument Given(const Resolved& call, std::string_view tensor) {
  const BoundInput& input = *call.FindInput(tensor);
  return input.present ? Argument(input.tensor) : Argument();
}

Tensor AsGiven(const Resolved& call, const Tensor& output) {
  Tensor tensor = output;
  const auto back = [&](auto& list) {
    std::rotate(list.begin() + call.moved_axis, list.begin() + tensor.rank - 1,
                list.begin() + tensor.rank);
  };
  if (call.moved_axis < 0) return tensor;
  back(tensor.sizes);
  back(tensor.strides);
  return tensor;
}

Tensor Part(Tensor tensor, int axis, int64_t begin, int64_t count) {
  tensor.data = tensor.ptr<char>() + begin * tensor.stride(axis) * ItemSize(tensor.dtype);
  tensor.sizes[axis < 0 ? axis + tensor.rank : axis] = count;
  return tensor;
}

Buffer Fresh(DType dtype, std::vector<int64_t> shape) { return Buffer({dtype, std::move(shape)}); }

void AllReduce(Communicator& group, const Tensor& x, const Tensor& y) {
  const Dense from(x);
  const DenseTarget to(y);
  group.AllReduce(from.data(), to.data(), x.numel(), x.dtype);
  to.Finish();
}

void AllGather(Communicator& group, const Tensor& x, const Tensor& y, int axis) {
  const Dense from(x);
  if (SlicesInOrder(y, axis)) {
    group.AllGather(from.data(), y.data, x.numel(), x.dtype);
    return;
  }
  const Buffer parts = Fresh(x.dtype, {group.size(), x.numel()});
  group.AllGather(from.data(), parts.tensor().data, x.numel(), x.dtype);
  for (int rank = 0; rank < group.size(); ++rank) {
    const Tensor part = Part(parts.tensor(), 0, rank, 1);
    CopyStrided(MakeTensor(part.data, x.dtype, x.shape()),
                Part(y, axis, rank * x.sizes[axis], x.sizes[axis]));
  }
}

void ReduceScatter(Communicator& group, const Tensor& x, const Tensor& y, int axis) {
  const DenseTarget to(y);
  if (SlicesInOrder(x, axis)) {
    group.ReduceScatter(x.data, to.data(), y.numel(), x.dtype);
    to.Finish();
    return;
  }
  const Buffer parts = Fresh(x.dtype, {group.size(), y.numel()});
  for (int rank = 0; rank < group.size(); ++rank) {
    const Tensor part = Part(parts.tensor(), 0, rank, 1);
    CopyStrided(Part(x, axis, rank * y.sizes[axis], y.sizes[axis]),
                MakeTensor(part.data, x.dtype, y.shape()));
  }
  group.ReduceScatter(parts.tensor().data, to.data(), y.numel(), x.dtype);
  to.Finish();
}

void AllToAll(Communicator& group, const Tensor& x, const Tensor& y) {
  const Dense from(x);
  const DenseTarget to(y);
  group.AllToAll(from.data(), to.data(), x.numel() / group.size(), x.dtype);
  to.Finish();
}

}  // namespace tenon::ops
