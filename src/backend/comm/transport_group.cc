#include "backend/comm/transport_group.h"

#include <array>

#include "base/error.h"

namespace tenon {
namespace {

class CallbackGroup final : public Communicator {
 public:
  explicit CallbackGroup(const TenonTransport& transport)
      : Communicator(transport.rank, transport.size), transport_(transport) {}

 protected:
  void Gather(const void* in, void* out, int64_t bytes, double timeout_s) override {
    Run(transport_.gather, in, out, bytes, timeout_s);
  }
  void Exchange(const void* in, void* out, int64_t bytes, double timeout_s) override {
    Run(transport_.exchange, in, out, bytes, timeout_s);
  }

 private:
  void Run(TenonTransfer transfer, const void* in, void* out, int64_t bytes, double timeout_s) {
    std::array<char, TENON_REASON_BYTES> reason{};
    const int failed = transfer(transport_.context, in, out, bytes, timeout_s, reason.data());
    reason.back() = '\0';
    TENON_CHECK(failed == 0, "the group did not move its bytes: {}",
                reason[0] != '\0' ? reason.data() : "no reason was given");
  }

  const TenonTransport transport_;
};

}  // namespace

std::shared_ptr<Communicator> GroupOf(const TenonTransport* transport) {
  TENON_CHECK(
      transport != nullptr && transport->gather != nullptr && transport->exchange != nullptr,
      "a group must have functions that gather and exchange");
  TENON_CHECK(transport->size > 0 && transport->rank >= 0 && transport->rank < transport->size,
              "a group's rank must be in [0, size), got rank {} of {}", transport->rank,
              transport->size);
  return std::make_shared<CallbackGroup>(*transport);
}

}  // namespace tenon
