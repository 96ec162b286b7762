// How long a rank waits for the others of its group.
#pragma once

namespace tenon {

// $TENON_COMM_TIMEOUT. UsageError when it is no positive number.
double CommTimeoutSeconds();

}  // namespace tenon
