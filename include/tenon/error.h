// The two exception types of Tenon.
#pragma once

#include <stdexcept>
#include <string>

#ifndef TENON_API
#define TENON_API __attribute__((visibility("default")))  // of libtenon
#endif

namespace tenon {

// The caller can fix it. The sentence names operator, argument, what was expected and what came:
//   fused_add_rms_norm: weight must be [4096] like x's last axis, got [4095]
class TENON_API UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A bug of Tenon's; carries file and line of the failed assertion.
class TENON_API InternalError : public std::logic_error {
 public:
  InternalError(const char* file, int line, const std::string& what);
};

}  // namespace tenon
