// Float rows that a kernel keeps between its passes: one set per thread, reused from row to row.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace tenon::cpu {

inline constexpr size_t kScratchAlignment = 64;  // bytes: a cache line, the widest vector
inline constexpr int kScratchRows = 8;

// At least n floats, 64-byte aligned, uninitialised. A row stays valid on this thread until a call
// with the same slot and a larger n.
inline float* ScratchRow(int slot, size_t n) {
  struct Free {
    void operator()(float* row) const {
      ::operator delete[](row, std::align_val_t{kScratchAlignment});
    }
  };
  struct Row {
    std::unique_ptr<float[], Free> floats;
    size_t size = 0;
  };
  thread_local Row rows[kScratchRows];
  Row& row = rows[slot];
  if (row.size < n) {
    row.floats.reset(static_cast<float*>(
        ::operator new[](n * sizeof(float), std::align_val_t{kScratchAlignment})));
    row.size = n;
  }
  return row.floats.get();
}

}  // namespace tenon::cpu
