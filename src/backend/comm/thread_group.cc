// Ranks that are threads of one process: each shows where its memory is, and all copy from there.
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>

#include "base/error.h"
#include "tenon/comm.h"

namespace tenon {
namespace {

class Meeting {
 public:
  explicit Meeting(int size) : shown_(static_cast<size_t>(size)) {}

  // Shows `in` and waits for all; `copy` then gets what every rank shows, which stays as it is
  // until all have copied.
  template <typename Fn>
  void Run(int rank, const void* in, double timeout_s, Fn&& copy) {
    shown_[static_cast<size_t>(rank)] = static_cast<const char*>(in);
    Wait(timeout_s);
    copy(shown_);
    Wait(timeout_s);
  }

 private:
  void Wait(double timeout_s) {
    std::unique_lock lock(mutex_);
    // What those that gave up have shown may be gone.
    TENON_CHECK(!broken_, "a rank of the group has given up");
    const uint64_t round = round_;
    if (++waiting_ == shown_.size()) {
      waiting_ = 0;
      ++round_;
      all_.notify_all();
      return;
    }
    const std::chrono::duration<double> limit(timeout_s);
    const bool done = all_.wait_for(lock, limit, [&] { return broken_ || round_ != round; });
    if (done && round_ != round) return;
    broken_ = true;
    all_.notify_all();
    throw UsageError(fmt::format("not every rank of the group came within {} seconds", timeout_s));
  }

  std::mutex mutex_;
  std::condition_variable all_;
  std::vector<const char*> shown_;
  size_t waiting_ = 0;
  uint64_t round_ = 0;
  bool broken_ = false;  // a rank gave up
};

class ThreadRank final : public Communicator {
 public:
  ThreadRank(int rank, int size, std::shared_ptr<Meeting> meeting)
      : Communicator(rank, size), meeting_(std::move(meeting)) {}

 protected:
  void Gather(const void* in, void* out, int64_t bytes, double timeout_s) override {
    Copy(in, out, bytes, timeout_s, 0);
  }
  void Exchange(const void* in, void* out, int64_t bytes, double timeout_s) override {
    Copy(in, out, bytes, timeout_s, rank() * bytes);
  }

 private:
  void Copy(const void* in, void* out, int64_t bytes, double timeout_s, int64_t offset) {
    meeting_->Run(rank(), in, timeout_s, [&](const std::vector<const char*>& shown) {
      auto* to = static_cast<char*>(out);
      for (const char* from : shown) {
        std::memcpy(to, from + offset, static_cast<size_t>(bytes));
        to += bytes;
      }
    });
  }

  std::shared_ptr<Meeting> meeting_;
};

}  // namespace

std::vector<std::shared_ptr<Communicator>> MakeThreadGroup(int size) {
  TENON_CHECK(size >= 1, "a group must have at least one rank, got {}", size);
  const auto meeting = std::make_shared<Meeting>(size);
  std::vector<std::shared_ptr<Communicator>> ranks;
  for (int rank = 0; rank < size; ++rank) {
    ranks.push_back(std::make_shared<ThreadRank>(rank, size, meeting));
  }
  return ranks;
}

}  // namespace tenon
