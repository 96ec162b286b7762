// What matching finds in a model's operator sequence, as plain structs that mirror the keys
// `opportunities`, `near_misses` and `dead` of the JSON schema `tenon.analysis/1`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tenon::fuse {

struct FileLines {
  std::string file;        // relative to the repository root, starts with `vllm/`
  std::vector<int> lines;  // sorted, unique
};

// Operators of the following layer, when a chain crosses into it.
struct NextLayer {
  int variant = 0;
  std::vector<int> ops;
};

struct TokenBenefit {
  int64_t tokens = 0;
  int64_t bytes_before = 0;  // read and written by the matched operators, one layer
  int64_t bytes_after = 0;
  double saved_us = 0;  // one layer, predicted from the device profile
  bool gain = false;    // at this token count
};

struct Benefit {
  int launches_before = 0;
  int launches_after = 0;
  std::vector<TokenBenefit> per_tokens;
  std::string condition;  // when there is no gain
};

struct Opportunity {
  int id = 0;                       // from 1, in the order of the report
  std::string scene;                // row of scenes.def: N1, A1, V2 ...
  std::string type;                 // Norm, MatMul, MoE, Attention, Activation, Vector
  std::string title;                // "split + qk_norm + rotary_embedding in one kernel"
  int variant = 0;                  // Variant::id of the analysis
  std::vector<int> ops;             // Op::i, in the order of execution
  std::string status;               // open, optin, fused, no_gain, blocked, absent
  std::optional<std::string> by;    // kernel, layer or pass that does it: of fused and optin
  std::optional<std::string> flag;  // what switches `by` on: of optin
  std::optional<int> priority;      // 1 (largest gain) to 3: of open and optin
  std::vector<FileLines> files;
  std::optional<std::string> interface;  // Python text: "def name(...) -> ..." and comment lines
  std::vector<std::string> subsumes;     // scenes of shorter matches on the same operators
  std::optional<NextLayer> next;
  // The chain as IR text: registry operators are calls, the rest primitive nodes. `tenon fuse`
  // makes one kernel of it, and one kernel per step to compare with. Empty: cannot be generated.
  std::optional<std::string> ir;
  Benefit benefit;
  std::optional<std::string> reason;  // with the arithmetic, where the status needs one
};

// A chain that stopped before its last operator.
struct NearMiss {
  std::string scene;
  int variant = 0;
  std::vector<int> ops;  // matched so far, then the operator that stopped it
  int matched = 0;
  int of = 0;
  std::string stopped_at;  // "all_reduce: not a norm"
  std::string file;
  int line = 0;
};

// A replacement, patch or pass that never takes effect.
struct Dead {
  std::string kind;  // registration, patch, pass
  std::string target;
  std::string reason;
  std::string file;
  int line = 0;
};

struct Findings {
  std::vector<Opportunity> opportunities;
  std::vector<NearMiss> near_misses;
  std::vector<Dead> dead;
};

}  // namespace tenon::fuse
