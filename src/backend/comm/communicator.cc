#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "backend/comm/timeout.h"
#include "backend/cpu/widen.h"
#include "base/dtype.h"
#include "base/env.h"
#include "base/error.h"
#include "tenon/comm.h"

namespace tenon {
namespace {

enum class Collective : int32_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kBarrier
};

constexpr std::array<std::string_view, 6> kNames = {"all_reduce", "all_gather", "reduce_scatter",
                                                    "all_to_all", "broadcast",  "barrier"};

void CheckSummable(DType dtype) {
  TENON_CHECK(dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16,
              "sums over ranks must be of f32, f16 or bf16, got {}", DTypeName(dtype));
}

// out[count] = the sum of the `ranks` rows of in[ranks, count], first to last.
void SumRows(const char* in, char* out, int64_t ranks, int64_t count, DType dtype) {
  constexpr int64_t kChunk = 1024;  // two of them stay in the first cache
  std::array<float, kChunk> sum;
  std::array<float, kChunk> row;
  const int64_t item = ItemSize(dtype);
  for (int64_t begin = 0; begin < count; begin += kChunk) {
    const int64_t length = std::min(kChunk, count - begin);
    cpu::Widen(in + begin * item, dtype, length, sum.data());
    for (int64_t rank = 1; rank < ranks; ++rank) {
      cpu::Widen(in + (rank * count + begin) * item, dtype, length, row.data());
      for (int64_t i = 0; i < length; ++i) sum[i] += row[i];
    }
    for (int64_t i = 0; i < length; ++i) StoreElement(out, dtype, begin + i, sum[i]);
  }
}

}  // namespace

double CommTimeoutSeconds() {
  const std::string text = EnvValue("TENON_COMM_TIMEOUT", "300");
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  TENON_CHECK(error == std::errc() && end == text.data() + text.size() && seconds > 0,
              "TENON_COMM_TIMEOUT must be a positive number of seconds, got {}", text);
  return seconds;
}

// What a rank is about to do; the same bytes on all.
struct Communicator::Announcement {
  Collective collective;
  int32_t dtype;
  int64_t count;
  int64_t root;

  std::string text() const {
    std::string text(kNames[static_cast<size_t>(collective)]);
    if (collective == Collective::kBarrier) return text;
    text += fmt::format(" of {} {}", count, DTypeName(static_cast<DType>(dtype)));
    return collective == Collective::kBroadcast ? text + fmt::format(" from rank {}", root) : text;
  }
};

template <typename Fn>
void Communicator::Transfer(Fn&& move) {
  TENON_CHECK(broken_.empty(), "the group cannot be used any more: {}", broken_);
  try {
    move(CommTimeoutSeconds());
  } catch (const UsageError& e) {
    broken_ = e.what();
    throw;
  }
}

void Communicator::Agree(const Announcement& mine) {
  TENON_CHECK(mine.count >= 0, "{}: count must be at least 0, got {}",
              kNames[static_cast<size_t>(mine.collective)], mine.count);
  if (size_ == 1) return;
  std::vector<Announcement> all(static_cast<size_t>(size_));
  Transfer([&](double timeout_s) { Gather(&mine, all.data(), sizeof(mine), timeout_s); });
  for (int rank = 1; rank < size_; ++rank) {
    const Announcement& other = all[static_cast<size_t>(rank)];
    TENON_CHECK(std::memcmp(&other, &all[0], sizeof(other)) == 0,
                "the ranks of the group do not agree: rank 0 calls {}, rank {} calls {}",
                all[0].text(), rank, other.text());
  }
}

void Communicator::AllReduce(const void* in, void* out, int64_t count, DType dtype) {
  CheckSummable(dtype);
  Agree({Collective::kAllReduce, static_cast<int32_t>(dtype), count, 0});
  if (count == 0) return;
  const int64_t item = ItemSize(dtype);
  if (size_ == 1) {
    std::memcpy(out, in, static_cast<size_t>(count * item));
    return;
  }
  // Below this a second message costs more than the bytes that it saves.
  constexpr int64_t kOneMessageBytes = 16 << 10;
  if (count * item <= kOneMessageBytes) {
    std::vector<char> rows(static_cast<size_t>(size_ * count * item));
    Transfer([&](double timeout_s) { Gather(in, rows.data(), count * item, timeout_s); });
    SumRows(rows.data(), static_cast<char*>(out), size_, count, dtype);
    return;
  }
  // Each rank sums one block for all.
  const int64_t block = (count + size_ - 1) / size_;
  std::vector<char> padded(static_cast<size_t>(size_ * block * item));
  std::memcpy(padded.data(), in, static_cast<size_t>(count * item));
  std::vector<char> rows(padded.size());
  Transfer(
      [&](double timeout_s) { Exchange(padded.data(), rows.data(), block * item, timeout_s); });
  std::vector<char> sum(static_cast<size_t>(block * item));
  SumRows(rows.data(), sum.data(), size_, block, dtype);
  Transfer([&](double timeout_s) { Gather(sum.data(), rows.data(), block * item, timeout_s); });
  std::memcpy(out, rows.data(), static_cast<size_t>(count * item));
}

void Communicator::AllGather(const void* in, void* out, int64_t count, DType dtype) {
  Agree({Collective::kAllGather, static_cast<int32_t>(dtype), count, 0});
  if (count == 0) return;
  const int64_t bytes = count * ItemSize(dtype);
  if (size_ == 1) {
    std::memcpy(out, in, static_cast<size_t>(bytes));
    return;
  }
  Transfer([&](double timeout_s) { Gather(in, out, bytes, timeout_s); });
}

void Communicator::ReduceScatter(const void* in, void* out, int64_t count, DType dtype) {
  CheckSummable(dtype);
  Agree({Collective::kReduceScatter, static_cast<int32_t>(dtype), count, 0});
  if (count == 0) return;
  const int64_t bytes = count * ItemSize(dtype);
  if (size_ == 1) {
    std::memcpy(out, in, static_cast<size_t>(bytes));
    return;
  }
  std::vector<char> rows(static_cast<size_t>(size_ * bytes));
  Transfer([&](double timeout_s) { Exchange(in, rows.data(), bytes, timeout_s); });
  SumRows(rows.data(), static_cast<char*>(out), size_, count, dtype);
}

void Communicator::AllToAll(const void* in, void* out, int64_t count, DType dtype) {
  Agree({Collective::kAllToAll, static_cast<int32_t>(dtype), count, 0});
  if (count == 0) return;
  const int64_t bytes = count * ItemSize(dtype);
  if (size_ == 1) {
    std::memcpy(out, in, static_cast<size_t>(bytes));
    return;
  }
  Transfer([&](double timeout_s) { Exchange(in, out, bytes, timeout_s); });
}

void Communicator::Broadcast(void* buffer, int64_t count, DType dtype, int root) {
  TENON_CHECK(root >= 0 && root < size_, "broadcast: root must be in [0, {}], got {}", size_ - 1,
              root);
  Agree({Collective::kBroadcast, static_cast<int32_t>(dtype), count, root});
  if (count == 0 || size_ == 1) return;
  const int64_t bytes = count * ItemSize(dtype);
  std::vector<char> rows(static_cast<size_t>(size_ * bytes));
  Transfer([&](double timeout_s) { Gather(buffer, rows.data(), bytes, timeout_s); });
  std::memcpy(buffer, rows.data() + root * bytes, static_cast<size_t>(bytes));
}

void Communicator::Barrier() { Agree({Collective::kBarrier, 0, 0, 0}); }

}  // namespace tenon
