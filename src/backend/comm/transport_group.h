// Groups of ranks whose bytes are moved by functions of the C ABI.
#pragma once

#include <memory>

#include "tenon/c.h"
#include "tenon/comm.h"

namespace tenon {

// UsageError when it is not complete.
std::shared_ptr<Communicator> GroupOf(const TenonTransport* transport);

}  // namespace tenon
