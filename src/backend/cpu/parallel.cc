#include "backend/cpu/parallel.h"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <exception>
#include <vector>

#include "base/env.h"
#include "base/error.h"

namespace tenon::cpu {
namespace {

std::atomic<ParallelForHook> g_hook = nullptr;
std::atomic<int> g_threads = 0;  // 0: the default
// Set in the child of a fork that follows a parallel loop: GNU OpenMP would wait for threads that
// the child does not have, so loops run inline there.
std::atomic<bool> g_is_forked_child = false;

int DefaultThreads() {
  static const int threads = [] {
    const std::string text = EnvValue("TENON_NUM_THREADS");
    if (text.empty()) return std::max(omp_get_max_threads(), 1);
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    TENON_CHECK(error == std::errc() && end == text.data() + text.size() && value >= 1,
                "TENON_NUM_THREADS must be a whole number of at least 1, got {}", text);
    return value;
  }();
  return threads;
}

// Runs body on each of `parts` equal ranges; exceptions are kept by range.
void RunOpenMp(int64_t count, int parts, RangeBody body, void* state) {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { g_is_forked_child = true; });
  static_cast<void>(registered);
  std::vector<std::exception_ptr> errors(parts);
#pragma omp parallel for num_threads(parts) schedule(static, 1)
  for (int part = 0; part < parts; ++part) {
    try {
      body(state, count * part / parts, count * (part + 1) / parts);
    } catch (...) {
      errors[part] = std::current_exception();
    }
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace

void SetParallelFor(ParallelForHook hook) { g_hook.store(hook); }

int NumThreads() {
  const int threads = g_threads.load(std::memory_order_relaxed);
  return threads > 0 ? threads : DefaultThreads();
}

void SetNumThreads(int threads) {
  TENON_CHECK(threads >= 0, "the number of threads must not be negative, got {}", threads);
  g_threads.store(threads);
}

void ParallelForRanges(int64_t count, int64_t grain, RangeBody body, void* state) {
  if (count <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  if (const ParallelForHook hook = g_hook.load(std::memory_order_relaxed); hook != nullptr) {
    hook(count, grain, body, state);
    return;
  }
  const int64_t worth = (count + grain - 1) / grain;
  const int parts = static_cast<int>(std::min<int64_t>(worth, NumThreads()));
  if (parts <= 1 || omp_in_parallel() || g_is_forked_child.load(std::memory_order_relaxed)) {
    body(state, 0, count);
    return;
  }
  RunOpenMp(count, parts, body, state);
}

}  // namespace tenon::cpu
