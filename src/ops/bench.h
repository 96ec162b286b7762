// How fast is an operator, and how fast could it be: its time against the limit of this machine and
// against the chain of operators that it replaces, side by side in one run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/cpu/bandwidth.h"
#include "ops/case.h"

namespace tenon::ops {

// What this machine can do with the threads in use, measured in the same run.
struct MachineLimits {
  int threads = 1;
  double copy_gb_per_s = 0;  // the better of memcpy and a streaming copy of 256 MiB
  std::shared_ptr<const cpu::CopyProbe> copy;
};
MachineLimits MeasureLimits();

struct BenchOptions {
  int repeats = 9;
};

struct BenchRow {
  std::string op;
  std::string text;  // the case's line
  std::string dtype;
  int64_t tokens = 0;
  std::string check;     // empty when the result is right; no time is given otherwise
  double kernel_us = 0;  // the generated kernel on all threads, arguments bound before
  double call_us = 0;    // the whole call by name: checks, dispatch, kernel
  double spread = 0;     // quartile distance of kernel_us over its median
  int64_t bytes = 0;     // moved at least: every argument and result once
  // The better of memcpy and a streaming copy, in turn with the kernel; of MachineLimits for cases
  // that the last-level cache holds, whose data a copy would drive out.
  double copy_gb_per_s = 0;
  double arithmetic_us = 0;  // time in L1, scaled to this size and the threads
  double limit_us = 0;       // max(bytes / copy bandwidth, arithmetic_us)
  double chain_us = 0;       // the unfused chain; 0 when there is none
  double gb_per_s() const { return static_cast<double>(bytes) / kernel_us / 1e3; }
  double share_of_limit() const { return limit_us / kernel_us; }
  double chain_ratio() const { return chain_us / call_us; }  // both are whole calls
};

// `spec` is a line of bench/shapes with its lead axes and storage type filled in.
BenchRow Bench(const CaseSpec& spec, const MachineLimits& limits, const BenchOptions& options = {});

}  // namespace tenon::ops
