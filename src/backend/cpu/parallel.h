// One ParallelFor for the whole CPU backend.
#pragma once

#include <cstdint>
#include <type_traits>

namespace tenon::cpu {

// Body of a parallel loop over [begin, end), with its captured state.
using RangeBody = void (*)(void* state, int64_t begin, int64_t end);

// Runs body(state, ...) over disjoint ranges that cover [0, count), each of at least `grain`
// iterations but the last, and returns when all are done. May run on any threads.
using ParallelForHook = void (*)(int64_t count, int64_t grain, RangeBody body, void* state);

// Replaces OpenMP's threads, so that a host program with a pool of its own (PyTorch) runs the
// loops; nullptr brings OpenMP back. Not while loops run.
void SetParallelFor(ParallelForHook hook);

// Threads that a loop may use: $TENON_NUM_THREADS, else OpenMP's number. SetNumThreads(0) returns
// to that default.
int NumThreads();
void SetNumThreads(int threads);

void ParallelForRanges(int64_t count, int64_t grain, RangeBody body, void* state);

// Calls fn(begin, end) on contiguous, disjoint ranges that cover [0, count). `grain` is the least
// number of iterations worth a thread: with count <= grain, one thread or inside another loop it is
// one plain call. How the ranges are cut must not influence results; an exception in one range
// reaches the caller (the first range's, if several throw) after all have ended.
template <typename Fn>
void ParallelFor(int64_t count, int64_t grain, Fn&& fn) {
  if (count <= 0) return;
  if (count <= grain) {
    fn(int64_t{0}, count);
    return;
  }
  using State = std::remove_reference_t<Fn>;
  ParallelForRanges(
      count, grain,
      [](void* state, int64_t begin, int64_t end) { (*static_cast<State*>(state))(begin, end); },
      const_cast<std::remove_const_t<State>*>(&fn));
}

}  // namespace tenon::cpu
