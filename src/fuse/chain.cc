#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "fuse/scenes.h"

namespace tenon::fuse {
namespace {

constexpr std::array<std::string_view, 20> kElementwise = {
    "add", "sub",   "mul",    "div",   "neg",     "exp",     "pow",  "sqrt", "rsqrt", "clamp",
    "abs", "where", "square", "relu2", "maximum", "minimum", "silu", "gelu", "relu",  "sigmoid"};

}  // namespace

bool IsElementwise(std::string_view op) {
  return std::find(kElementwise.begin(), kElementwise.end(), op) != kElementwise.end() ||
         op == "tanh" || op == "softplus" || op == "cast";
}

bool ChainItem::Accepts(std::string_view op) const {
  return std::any_of(names.begin(), names.end(), [op](const std::string& name) {
    if (name == "elementwise") return IsElementwise(op);
    if (name.starts_with('*')) return op.ends_with(std::string_view(name).substr(1));
    return op == name;
  });
}

std::vector<ChainItem> ParseChain(std::string_view chain) {
  std::vector<ChainItem> items;
  for (const std::string& word : Split(chain, ' ')) {
    std::string_view text = word;
    ChainItem item;
    const auto take = [&text](char first) {
      if (!text.starts_with(first)) return false;
      text.remove_prefix(1);
      return true;
    };
    item.context = take('<');
    item.sibling = take('~');
    item.optional = take('[');
    TENON_CHECK(!item.optional || text.ends_with(']'), "chain '{}': {} lacks its ]", chain, word);
    if (item.optional) text.remove_suffix(1);
    item.repeated = text.ends_with('+');
    if (item.repeated) text.remove_suffix(1);
    if (take('{')) {
      TENON_CHECK(text.ends_with('}'), "chain '{}': {} lacks its }}", chain, word);
      text.remove_suffix(1);
    }
    TENON_CHECK(!text.empty(), "chain '{}': an operator is missing", chain);
    item.names = Split(text, ',');
    items.push_back(std::move(item));
  }
  TENON_CHECK(!items.empty() && !items.back().optional, "chain '{}' must end with an operator",
              chain);
  return items;
}

}  // namespace tenon::fuse
