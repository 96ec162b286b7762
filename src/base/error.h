// TENON_CHECK refuses bad input with a UsageError, TENON_ASSERT reports a bug of ours.
#pragma once

#include <fmt/format.h>

#include "tenon/error.h"

#define TENON_CHECK(condition, ...) \
  (static_cast<bool>(condition) ? void(0) : throw ::tenon::UsageError(::fmt::format(__VA_ARGS__)))

#define TENON_ASSERT(condition, ...) \
  (static_cast<bool>(condition)      \
       ? void(0)                     \
       : throw ::tenon::InternalError(__FILE__, __LINE__, ::fmt::format(__VA_ARGS__)))
