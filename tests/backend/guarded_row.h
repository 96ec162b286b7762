// Memory that ends, or begins, at a page that must not be touched.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <new>

namespace tenon {

// Room for n elements of T between two forbidden pages, filled with 0xA5. `at_end`: the last
// element touches the second page; otherwise the first element follows the first page.
template <typename T>
class GuardedRow {
 public:
  GuardedRow(size_t n, bool at_end) : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    const size_t bytes = n * sizeof(T);
    inner_ = (bytes + page_ - 1) / page_ * page_;
    if (inner_ == 0) inner_ = page_;
    base_ = static_cast<char*>(
        mmap(nullptr, inner_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base_ == MAP_FAILED) throw std::bad_alloc();
    mprotect(base_ + page_, inner_, PROT_READ | PROT_WRITE);
    std::memset(base_ + page_, 0xA5, inner_);
    row_ = base_ + page_ + (at_end ? inner_ - bytes : 0);
    bytes_ = bytes;
  }
  ~GuardedRow() { munmap(base_, inner_ + 2 * page_); }
  GuardedRow(const GuardedRow&) = delete;
  GuardedRow& operator=(const GuardedRow&) = delete;

  T* row() { return reinterpret_cast<T*>(row_); }

  // Whether all bytes outside the row still hold the fill.
  bool SurroundingsAreIntact() const {
    for (const char* p = base_ + page_; p < base_ + page_ + inner_; ++p) {
      if (p >= row_ && p < row_ + bytes_) continue;
      if (static_cast<unsigned char>(*p) != 0xA5) return false;
    }
    return true;
  }

 private:
  size_t page_;
  size_t inner_ = 0;
  size_t bytes_ = 0;
  char* base_ = nullptr;
  char* row_ = nullptr;
};

}  // namespace tenon
