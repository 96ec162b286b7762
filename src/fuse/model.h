// What matching works on: the operator graphs of a model's layers and where they run. Made from an
// analysis by the command line; `fuse` itself does not know the analyser.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "fuse/opportunity.h"
#include "ir/ir.h"

namespace tenon::fuse {

// Equal layers. Calls in `graph` carry the attributes of ir/source_op.h.
struct Layer {
  int variant = 0;
  std::vector<int> layers;
  bool compiled = false;  // its elementwise operators pass through the framework's compiler
  ir::Graph graph;
};

struct Model {
  std::string platform;  // cuda, rocm, xpu, cpu, ascend
  int sm = 90;
  int tp = 1;
  DType dtype = DType::kBF16;
  int64_t cache_bytes = 0;  // last-level cache of the device; 0: unknown
  std::vector<int64_t> tokens;
  std::vector<Layer> layers;
  std::vector<Dead> dead;  // registrations and patches that the overlay found without effect
};

// The size that counts tokens in a lowered model.
inline constexpr const char* kTokens = "T";

}  // namespace tenon::fuse
