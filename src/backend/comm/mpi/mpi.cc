// The MPI plugin: a library of its own, which libtenon opens when it is asked for a group of
// processes that `mpirun` started, so that nothing else depends on MPI.
//
// MPI has no time limits. Bytes go by messages that are polled: each rank to each other, in pieces
// through memory of the group's own, which MPI may still touch after a rank has given up. A rank
// that gives up tells the others, who look for that as they wait.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "backend/comm/mpi/plugin.h"

namespace tenon::mpi {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBytesTag = 1;
constexpr int kGaveUpTag = 2;
// Of a piece: the pieces of some ranks stay in the second cache.
constexpr int64_t kPieceBytes = 256 << 10;

// What a rank that waits for another throws away, so that the other can run on the same core; and
// how long it does so before it starts to sleep.
constexpr auto kYieldsFor = std::chrono::milliseconds(2);
constexpr auto kSleep = std::chrono::microseconds(50);

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void Check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Failure(std::string(call) + ": " + std::string(text, static_cast<size_t>(length)));
}

// A group that failed may have lost a process, for which MPI_Finalize would wait.
bool may_finalize = true;

std::string Seconds(double seconds) {
  std::string text = std::to_string(seconds);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + " seconds";
}

Clock::time_point After(double seconds) {
  const std::chrono::duration<double> wait(std::min(seconds, 1e9));
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(wait);
}

// Returns when all requests are done; false when they are not at `end`.
template <typename Fn>
bool Poll(std::vector<MPI_Request>& requests, Clock::time_point end, Fn&& meanwhile) {
  const Clock::time_point begin = Clock::now();
  for (;;) {
    int done = 0;
    Check(
        MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
        "MPI_Testall");
    if (done != 0) return true;
    meanwhile();
    const Clock::time_point now = Clock::now();
    if (now > end) return false;
    if (now - begin < kYieldsFor) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kSleep);
    }
  }
}

class Group {
 public:
  explicit Group(MPI_Comm ranks) : ranks_(ranks) {
    Check(MPI_Comm_set_errhandler(ranks, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    Check(MPI_Comm_rank(ranks, &rank_), "MPI_Comm_rank");
    Check(MPI_Comm_size(ranks, &size_), "MPI_Comm_size");
  }

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Block j of `in`, `in_step` bytes behind the one before, to rank j; -> out[size, bytes].
  void Move(const char* in, int64_t in_step, char* out, int64_t bytes, double timeout_s) {
    const Clock::time_point end = After(timeout_s);
    try {
      LookForGivenUp();
      std::memcpy(out + rank_ * bytes, in + rank_ * in_step, static_cast<size_t>(bytes));
      for (int64_t begin = 0; begin < bytes; begin += kPieceBytes) {
        const int64_t piece = std::min(kPieceBytes, bytes - begin);
        Post(in + begin, in_step, piece);
        if (!Poll(requests_, end, [&] { LookForGivenUp(); })) {
          throw Failure("not every rank of the group came within " + Seconds(timeout_s));
        }
        for (int rank = 0; rank < size_; ++rank) {
          if (rank == rank_) continue;
          std::memcpy(out + rank * bytes + begin, Received(rank, piece),
                      static_cast<size_t>(piece));
        }
      }
    } catch (const Failure&) {
      may_finalize = false;
      for (int rank = 0; rank < size_; ++rank) {
        if (rank != rank_) TellGivenUp(rank);
      }
      throw;
    }
  }

 private:
  // Pieces to all ranks, then pieces from all; where all get the same, one.
  const char* Received(int rank, int64_t piece) const {
    return memory_.data() + (size_ + rank) * piece;
  }

  void Post(const char* in, int64_t in_step, int64_t piece) {
    const auto needed = static_cast<size_t>(2 * size_ * piece);
    if (memory_.size() < needed) memory_.resize(needed);
    const int count = static_cast<int>(piece);
    requests_.clear();
    for (int rank = 0; rank < size_; ++rank) {
      if (rank == rank_) continue;
      Check(MPI_Irecv(memory_.data() + (size_ + rank) * piece, count, MPI_BYTE, rank, kBytesTag,
                      ranks_, &requests_.emplace_back(MPI_REQUEST_NULL)),
            "MPI_Irecv");
    }
    if (in_step == 0) std::memcpy(memory_.data(), in, static_cast<size_t>(piece));
    // The next rank first: not all to rank 0 at once.
    for (int step = 1; step < size_; ++step) {
      const int rank = (rank_ + step) % size_;
      char* sent = memory_.data();
      if (in_step != 0) {
        sent += rank * piece;
        std::memcpy(sent, in + rank * in_step, static_cast<size_t>(piece));
      }
      Check(MPI_Isend(sent, count, MPI_BYTE, rank, kBytesTag, ranks_,
                      &requests_.emplace_back(MPI_REQUEST_NULL)),
            "MPI_Isend");
    }
  }

  void LookForGivenUp() {
    int found = 0;
    MPI_Status status;
    Check(MPI_Iprobe(MPI_ANY_SOURCE, kGaveUpTag, ranks_, &found, &status), "MPI_Iprobe");
    if (found == 0) return;
    throw Failure("rank " + std::to_string(status.MPI_SOURCE) + " of the group has given up");
  }

  // Without waiting for it to arrive.
  void TellGivenUp(int rank) {
    static char nothing = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    if (MPI_Isend(&nothing, 1, MPI_BYTE, rank, kGaveUpTag, ranks_, &request) == MPI_SUCCESS) {
      MPI_Request_free(&request);
    }
  }

  MPI_Comm ranks_;
  int rank_ = 0;
  int size_ = 0;
  std::vector<char> memory_;
  std::vector<MPI_Request> requests_;
};

void Finalize() {
  int done = 0;
  MPI_Finalized(&done);
  if (done == 0 && may_finalize) MPI_Finalize();
}

// MPI as the program has started it; or started now, and ended with the process.
void Start() {
  int started = 0;
  Check(MPI_Initialized(&started), "MPI_Initialized");
  if (started != 0) return;
  int provided = 0;
  Check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided), "MPI_Init_thread");
  if (std::atexit(Finalize) != 0) throw Failure("no function can be run at the end of the process");
}

// MPI_Comm_split has no time limit.
void WaitForAll(double timeout_s) {
  std::vector<MPI_Request> barrier(1);
  Check(MPI_Ibarrier(MPI_COMM_WORLD, barrier.data()), "MPI_Ibarrier");
  if (Poll(barrier, After(timeout_s), [] {})) return;
  may_finalize = false;
  throw Failure("not every process made its group within " + Seconds(timeout_s));
}

template <typename Fn>
int Guard(char* reason, Fn&& fn) {
  try {
    fn();
    return 0;
  } catch (const std::exception& e) {
    std::strncpy(reason, e.what(), TENON_REASON_BYTES - 1);
    reason[TENON_REASON_BYTES - 1] = '\0';
    return 1;
  }
}

int Gather(void* context, const void* in, void* out, int64_t bytes, double timeout_s,
           char* reason) {
  return Guard(reason, [&] {
    static_cast<Group*>(context)->Move(static_cast<const char*>(in), 0, static_cast<char*>(out),
                                       bytes, timeout_s);
  });
}

int Exchange(void* context, const void* in, void* out, int64_t bytes, double timeout_s,
             char* reason) {
  return Guard(reason, [&] {
    static_cast<Group*>(context)->Move(static_cast<const char*>(in), bytes, static_cast<char*>(out),
                                       bytes, timeout_s);
  });
}

}  // namespace
}  // namespace tenon::mpi

extern "C" int tenon_mpi_group(int32_t color, double timeout_s, TenonTransport* transport,
                               char* reason) {
  using tenon::mpi::Check;
  return tenon::mpi::Guard(reason, [&] {
    tenon::mpi::Start();
    tenon::mpi::WaitForAll(timeout_s);
    MPI_Comm ranks = MPI_COMM_NULL;
    Check(MPI_Comm_split(MPI_COMM_WORLD, color, 0, &ranks), "MPI_Comm_split");
    // Lives as long as the process, as MPI may touch its memory.
    auto* group = new tenon::mpi::Group(ranks);
    *transport = {group->rank(), group->size(), group, tenon::mpi::Gather, tenon::mpi::Exchange};
  });
}
