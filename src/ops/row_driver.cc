#include "ops/row_driver.h"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "backend/cpu/bandwidth.h"
#include "backend/cpu/parallel.h"
#include "base/dtype.h"
#include "base/error.h"
#include "ops/strided.h"

namespace tenon::ops {

using cpu::RowCall;
using cpu::RowKernel;
using cpu::RowRole;
using cpu::RowTensor;
using cpu::RowTensorInfo;

namespace {

constexpr int kMaxTensors = 16;

// Below this a second thread is not asked for. An empty loop over two threads that still spin takes
// 0.7 us on Zen 4 (`tenon profile`), in which one core moves about 15 KiB; eight times that, since
// a thread that has gone to sleep takes longer.
constexpr int64_t kBytesPerThread = 128 << 10;

// Leading axes after collapsing: the last one is the kernel's row axis, the others are walked here.
struct RowSpace {
  int rank = 0;
  std::array<int64_t, kMaxRank> sizes;                             // of `rank` axes
  std::array<std::array<int64_t, kMaxRank>, kMaxTensors> strides;  // of tensors with rows
  int64_t rows = 1;
};

// Not set to zero first, unlike an array of them: a call of one short row would notice.
class RowTensors {
 public:
  RowTensor& operator[](int i) { return data()[i]; }
  RowTensor* data() { return reinterpret_cast<RowTensor*>(memory_); }

 private:
  alignas(RowTensor) std::byte memory_[kMaxTensors * sizeof(RowTensor)];
};

// One call in the making; buffers live until it ends.
class RowRun {
 public:
  RowRun(const RowKernel& kernel, const RowArguments& arguments)
      : kernel_(kernel), arguments_(arguments) {
    TENON_ASSERT(kernel.num_tensors <= kMaxTensors &&
                     arguments.tensors.size() == static_cast<size_t>(kernel.num_tensors),
                 "{}: {} tensors for a kernel of {}", kernel.op, arguments.tensors.size(),
                 kernel.num_tensors);
    for (int i = 0; i < kernel.num_tensors; ++i) views_[i] = &arguments.tensors[i];
  }

  void Run(cpu::RowFn fn) {
    if (!CollapseLead() || arguments_.rows == 0) return;
    CheckIndices();
    for (int i = 0; i < kernel_.num_tensors; ++i) Prepare(i);
    if (!copies_.empty()) CollapseLead();  // copies have strides of their own
    Launch(fn);
    for (const auto& [buffer, original] : copies_back_) CopyStrided(buffer, original);
  }

 private:
  const RowTensorInfo& Info(int i) const { return kernel_.tensors[i]; }
  const Tensor& View(int i) const { return *views_[i]; }
  bool IsRow(int i) const { return Info(i).per_row && View(i).data != nullptr; }

  // False when there is nothing to do.
  bool CollapseLead() {
    const int lead = arguments_.lead_rank;
    space_.rank = 0;
    space_.rows = 1;
    const Tensor* shape = nullptr;
    for (int i = 0; i < kernel_.num_tensors && shape == nullptr; ++i) {
      if (IsRow(i)) shape = &View(i);
    }
    TENON_ASSERT(shape != nullptr, "{}: no tensor has rows", kernel_.op);
    for (int axis = 0; axis < lead; ++axis) {
      const int64_t size = shape->sizes[axis];
      space_.rows *= size;
      if (size == 1) continue;
      const int last = space_.rank - 1;
      bool merges = space_.rank > 0;
      for (int i = 0; merges && i < kernel_.num_tensors; ++i) {
        merges = !IsRow(i) || space_.strides[i][last] == View(i).strides[axis] * size;
      }
      if (!merges) ++space_.rank;
      const int target = space_.rank - 1;
      space_.sizes[target] = merges ? space_.sizes[target] * size : size;
      for (int i = 0; i < kernel_.num_tensors; ++i) {
        if (IsRow(i)) space_.strides[i][target] = View(i).strides[axis];
      }
    }
    if (space_.rank == 0) {
      space_.rank = 1;
      space_.sizes[0] = 1;
    }
    return space_.rows > 0;
  }

  void CheckIndices() const {
    for (int k = 0; k < kernel_.num_tables; ++k) {
      const Tensor& table = View(kernel_.tables[k].table);
      const Tensor& index = View(kernel_.tables[k].index);
      const int64_t rows = table.sizes[0];
      ForEachElement(index, [&](int64_t offset) {
        const int64_t value = index.dtype == DType::kI32 ? index.ptr<int32_t>()[offset]
                                                         : index.ptr<int64_t>()[offset];
        TENON_CHECK(value >= 0 && value < rows, "{}: {} must be in [0, {}) like {}'s rows, got {}",
                    kernel_.op, Info(kernel_.tables[k].index).name, rows,
                    Info(kernel_.tables[k].table).name, value);
      });
    }
  }

  // Fresh memory of the view's shape, which takes the view's place.
  const Tensor& Replace(int i, DType dtype) {
    const Tensor& view = View(i);
    auto copy = std::make_unique<Copy>();
    copy->memory =
        std::make_unique<std::byte[]>(static_cast<size_t>(view.numel() * ItemSize(dtype)));
    copy->tensor = MakeTensor(copy->memory.get(), dtype, view.shape());
    views_[i] = &copy->tensor;
    copies_.push_back(std::move(copy));
    return *views_[i];
  }

  bool PassesAsOne(int i) const { return Info(i).may_be_one && View(i).strides[0] == 0; }

  void Prepare(int i) {
    const Tensor& view = View(i);
    if (view.data == nullptr || Info(i).role == RowRole::kIndex) return;
    if (Info(i).role == RowRole::kParam) {
      if (view.dtype == DType::kF32 && (IsContiguous(view) || PassesAsOne(i))) return;
      WidenStrided(view, Replace(i, DType::kF32));
      return;
    }
    const int first = Info(i).per_row ? arguments_.lead_rank : 1;
    if (view.rank <= first || view.stride(-1) == 1 || view.size(-1) == 1) return;
    const Tensor& packed = Replace(i, view.dtype);
    CopyStrided(view, packed);  // an output may be written in part
    if (Info(i).is_output) copies_back_.emplace_back(packed, view);
  }

  void Describe(int i, RowTensor& tensor) const {
    const Tensor& view = View(i);
    tensor.data = view.data;
    tensor.dtype = view.dtype;
    int64_t* stride = tensor.strides;
    if (Info(i).per_row) *stride++ = IsRow(i) ? space_.strides[i][space_.rank - 1] : 0;
    const int skip = Info(i).per_row ? arguments_.lead_rank : 0;
    for (int axis = skip; axis < view.rank; ++axis) *stride++ = view.strides[axis];
  }

  int64_t RowBytes(int i) const {
    const Tensor& view = View(i);
    int64_t bytes = ItemSize(view.dtype);
    for (int axis = arguments_.lead_rank; axis < view.rank; ++axis) bytes *= view.sizes[axis];
    return bytes;
  }

  int64_t ParamBytes(int i) const {
    return View(i).data == nullptr ? 0 : View(i).numel() * int64_t{sizeof(float)};
  }

  // A store past the caches to a line that has just been read first throws it out of them.
  bool WritesOverInput() const {
    for (int out = 0; out < kernel_.num_tensors; ++out) {
      if (!Info(out).is_output || !IsRow(out)) continue;
      for (int in = 0; in < kernel_.num_tensors; ++in) {
        if (!Info(in).is_output && IsRow(in) && View(in).data == View(out).data) return true;
      }
    }
    return false;
  }

  void Launch(cpu::RowFn fn) const {
    RowTensors tensors;
    int64_t row_bytes = 0;
    int64_t param_bytes = 0;
    for (int i = 0; i < kernel_.num_tensors; ++i) {
      Describe(i, tensors[i]);
      if (IsRow(i)) row_bytes += RowBytes(i);
      if (Info(i).role == RowRole::kParam && !PassesAsOne(i)) param_bytes += ParamBytes(i);
    }
    const bool is_far = row_bytes * space_.rows > cpu::LastLevelCacheBytes();
    const bool stream = is_far && cpu::NumThreads() > 1 && !WritesOverInput();
    // In a cache the next row comes fast, and asking for it early only drives out what this row
    // still needs, unless there is room for both. Zen 5, two threads, 512 rows of 4096 float32:
    // fused_add_rms_norm_ 131 -> 115 us; with room, dynamic_scaled_int8_quant gains 10 %.
    const bool next_row = is_far || 2 * row_bytes + param_bytes <= cpu::FirstLevelCacheBytes();
    const int64_t grain = std::max<int64_t>(1, kBytesPerThread / std::max<int64_t>(row_bytes, 1));
    cpu::ParallelFor(std::min(space_.rows, arguments_.rows), grain,
                     [&](int64_t begin, int64_t end) {
                       const RowCall call{tensors.data(), arguments_.sizes.data(),
                                          arguments_.scalars.data(), stream, next_row};
                       if (space_.rank == 1) {
                         fn(call, begin, end);
                       } else {
                         RunOuter(fn, call, begin, end);
                       }
                     });
  }

  // Rows [begin, end) of a space with outer axes: one kernel call per stretch of the last axis.
  void RunOuter(cpu::RowFn fn, const RowCall& call, int64_t begin, int64_t end) const {
    const int64_t inner = space_.sizes[space_.rank - 1];
    while (begin < end) {
      const int64_t first = begin % inner;
      const int64_t last = std::min(inner, first + end - begin);
      RowTensors tensors;
      for (int i = 0; i < kernel_.num_tensors; ++i) {
        tensors[i] = call.tensors[i];
        if (!IsRow(i)) continue;
        int64_t outer = begin / inner;
        int64_t offset = 0;
        for (int axis = space_.rank - 2; axis >= 0; --axis) {
          offset += outer % space_.sizes[axis] * space_.strides[i][axis];
          outer /= space_.sizes[axis];
        }
        tensors[i].data = static_cast<char*>(tensors[i].data) + offset * ItemSize(tensors[i].dtype);
      }
      fn({tensors.data(), call.sizes, call.scalars, call.stream, call.next_row}, first, last);
      begin += last - first;
    }
  }

  const RowKernel& kernel_;
  const RowArguments& arguments_;
  struct Copy {
    std::unique_ptr<std::byte[]> memory;
    Tensor tensor;
  };
  std::array<const Tensor*, kMaxTensors> views_;
  RowSpace space_;
  std::vector<std::unique_ptr<Copy>> copies_;
  std::vector<std::pair<Tensor, Tensor>> copies_back_;
};

}  // namespace

void RunRowKernel(const RowKernel& kernel, cpu::Target target, const RowArguments& arguments) {
  TENON_ASSERT(arguments.storage <= DType::kBF16, "{}: storage type {}", kernel.op,
               DTypeName(arguments.storage));
  const cpu::RowFn fn = kernel.fns[static_cast<int>(target)][static_cast<int>(arguments.storage)];
  TENON_ASSERT(fn != nullptr, "{}: the kernel is not compiled for {} and {}", kernel.op,
               cpu::TargetName(target), DTypeName(arguments.storage));
  RowRun(kernel, arguments).Run(fn);
}

}  // namespace tenon::ops
