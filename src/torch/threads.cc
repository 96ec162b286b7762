#include "torch/threads.h"

#include <torch/csrc/stable/c/shim.h>

#include <exception>
#include <mutex>
#include <stdexcept>

#include "tenon/c.h"

namespace tenon::torch {
namespace {

// PyTorch's C functions turn exceptions into numbers: they are carried around them.
struct Loop {
  TenonRangeFn fn;
  void* context;
  std::mutex mutex;
  std::exception_ptr error;  // of the first range that threw
  int64_t error_begin = 0;
};

void RunRange(int64_t begin, int64_t end, void* context) {
  auto& loop = *static_cast<Loop*>(context);
  try {
    loop.fn(loop.context, begin, end);
  } catch (...) {
    const std::lock_guard lock(loop.mutex);
    if (loop.error && loop.error_begin < begin) return;
    loop.error = std::current_exception();
    loop.error_begin = begin;
  }
}

void ParallelFor(int64_t count, int64_t grain, TenonRangeFn fn, void* context) {
  Loop loop{fn, context, {}, nullptr};
  const AOTITorchError status = torch_parallel_for(0, count, grain, RunRange, &loop);
  if (loop.error) std::rethrow_exception(loop.error);
  if (status != AOTI_TORCH_SUCCESS) throw std::runtime_error("PyTorch's parallel loop failed");
}

}  // namespace

void UseTorchThreads() { tenon_set_parallel_for(ParallelFor); }

}  // namespace tenon::torch
