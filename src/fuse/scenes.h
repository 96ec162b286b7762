// The pattern table: what can be fused, stated as data. scenes.cc has the rows, conditions.cc the
// conditions that rows name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::fuse {

// A kernel, layer or compiler pass that does the fusion today.
struct DoneBy {
  std::string_view by = "";
  std::string_view platforms = "any";  // names, separated by spaces: cuda, rocm, ascend ...
  std::string_view status = "fused";   // or optin with a flag
  std::string_view flag = "";
  std::vector<std::string_view> when = {};  // conditions; without them it does not apply
};

// One way to fuse. `chain` lists canonical operators in the order of the data flow:
//   [mul]            may be missing
//   {add,mul}        one of these
//   *_and_mul        any name that ends so
//   elementwise+     one or more of the elementwise operators
//   ~k_proj          not a consumer: a sibling that reads the same tensor as its predecessor
//   <head            the match begins with `head`, which is not part of what is fused
struct Scene {
  std::string_view id = "";
  std::string_view type = "";
  std::string_view chain = "";
  std::string_view name = "";  // of the fused operator; empty: nothing would be made
  std::string_view title = "";
  // Without these, and without one stream and equal rows (kAlwaysLegal), there is no match; a chain
  // of at least two that fails one is a near miss.
  std::vector<std::string_view> legal = {};
  std::vector<std::string_view> blocked_unless = {};
  std::vector<std::string_view> no_gain_unless = {};
  std::vector<DoneBy> done = {};
  std::vector<std::string_view> subsumes = {};
  int near_from = 2;          // a chain that stopped after so many operators is worth a line
  bool multi_output = false;  // intermediates may have other consumers: they are written, too
  int64_t max_tokens = 0;     // beyond it the fused form loses; 0: no such limit
  std::string_view no_gain_when = "";  // the sentence for `benefit.condition`
  int effort = 1;               // 0 kernel exists, 1 new kernel, 2 new weight layout, 3 collective
  bool row_wise = false;        // a body can be composed and generated
  bool crosses_layers = false;  // the last operator may be in the following layer
  std::string_view cost_of_last = "";  // only this part of the last operator is fused: kv_write
  std::string_view interface = "";     // Python signature
};

// What every match must satisfy, whatever the scene.
inline constexpr std::string_view kAlwaysLegal[] = {"same_stream", "same_extent"};

std::span<const Scene> Scenes();

struct ChainItem {
  std::vector<std::string> names;
  bool optional = false;
  bool repeated = false;
  bool sibling = false;
  bool context = false;  // `<head`
  bool Accepts(std::string_view op) const;
};

// UsageError when `chain` is not in the syntax above.
std::vector<ChainItem> ParseChain(std::string_view chain);

bool IsElementwise(std::string_view op);

}  // namespace tenon::fuse
