// Groups of processes (or threads) that compute together, and the collectives between them.
//
//   std::shared_ptr<tenon::Communicator> tp = ...;
//   tenon::RegisterGroup("tp:0", tp);
//   tenon::Op::Find("all_reduce").Run({x, std::string("tp:0")});
//
// Every rank makes the same calls in the same order. Ranks tell each other what they are about to
// do first, so that calls that do not fit are a UsageError on every rank. So is a rank that does
// not come within TENON_COMM_TIMEOUT seconds, after which the group cannot be used any more.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/error.h"
#include "tenon/tensor.h"

namespace tenon {

// Collectives on memory of the host, for one thread at a time. Sums are of f32, f16 or bf16: in
// float32, in the order of ranks, rounded once, so all ranks hold the same bits. `out` may not
// overlap `in`.
class TENON_API Communicator {
 public:
  Communicator(int rank, int size) : rank_(rank), size_(size) {}
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  int rank() const { return rank_; }
  int size() const { return size_; }

  // in[count] -> out[count], the sum over all ranks.
  void AllReduce(const void* in, void* out, int64_t count, DType dtype);
  // in[count] -> out[size, count]
  void AllGather(const void* in, void* out, int64_t count, DType dtype);
  // in[size, count] -> out[count], block `rank` of the sum.
  void ReduceScatter(const void* in, void* out, int64_t count, DType dtype);
  // in[size, count] -> out[size, count]; block j of `in` is block `rank` of rank j's `out`.
  void AllToAll(const void* in, void* out, int64_t count, DType dtype);
  // Rank `root`'s buffer to all.
  void Broadcast(void* buffer, int64_t count, DType dtype, int root);
  void Barrier();

 protected:
  // What a kind of group has to do: move bytes, more than none, and return when `out` is complete.
  // UsageError with the reason when that does not happen within the seconds given.
  // in[bytes] -> out[size, bytes]
  virtual void Gather(const void* in, void* out, int64_t bytes, double timeout_s) = 0;
  // in[size, bytes] -> out[size, bytes], as AllToAll
  virtual void Exchange(const void* in, void* out, int64_t bytes, double timeout_s) = 0;

 private:
  struct Announcement;
  void Agree(const Announcement& mine);
  template <typename Fn>
  void Transfer(Fn&& move);

  const int rank_;
  const int size_;
  std::string broken_;  // the sentence of the transfer that failed, or empty
};

// Of the processes that mpirun started, those that give the same colour, in MPI's order of them.
// All of them have to call this, in the same order as other calls of it. Starts MPI when the
// program has not. UsageError where the plugin or MPI's library is missing. When a transfer of the
// group has failed, MPI_Finalize is left out at the end of the process: it could wait for a dead
// rank.
TENON_API std::shared_ptr<Communicator> MakeMpiGroup(int color = 0);

// One communicator per rank, each for a thread of its own.
TENON_API std::vector<std::shared_ptr<Communicator>> MakeThreadGroup(int size);

// Makes a group known by name to the operators of this process, in place of one of that name.
TENON_API void RegisterGroup(std::string_view name, std::shared_ptr<Communicator> group);
// "" is one rank alone. UsageError when there is no group of that name.
TENON_API std::shared_ptr<Communicator> FindGroup(std::string_view name);
// Asked for names that are not registered: registers the group and returns 0, or returns another
// number. Null: nobody is asked.
using GroupFinder = int (*)(const char* name);
TENON_API void SetGroupFinder(GroupFinder find);

}  // namespace tenon
