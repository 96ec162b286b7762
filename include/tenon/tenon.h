// Everything of Tenon's C++ interface.
#pragma once

#include "tenon/comm.h"    // IWYU pragma: export
#include "tenon/error.h"   // IWYU pragma: export
#include "tenon/op.h"      // IWYU pragma: export
#include "tenon/tensor.h"  // IWYU pragma: export
