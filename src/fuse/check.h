// Is the fused kernel right? Against the float64 interpreter within the documented tolerance, and
// against the unfused chain bit for bit.
#pragma once

#include <string>
#include <vector>

#include "fuse/chain_run.h"
#include "fuse/inputs.h"

namespace tenon::fuse {

struct CheckCase {
  ir::Bindings sizes;
  InputKind inputs = InputKind::kNormal;
  std::string output;
  double worst = 0;         // largest |kernel - reference| as a share of what is allowed
  int64_t beyond = 0;       // elements that differ by more than allowed
  int64_t bits_differ = 0;  // elements whose bits differ from the unfused chain's
  bool passed() const { return beyond == 0 && bits_differ == 0; }
};

struct CheckResult {
  std::vector<CheckCase> cases;
  bool passed() const;
  std::string Sentence() const;  // "24 cases, within 0.52 of the tolerance, bits equal ..."
};

CheckResult Check(const Kernel& fused, const UnfusedKernels& chain, const ScalarMap& scalars,
                  const ir::Bindings& given_sizes);

}  // namespace tenon::fuse
