// The rows of functions.def, one per dotted name.
#include <deque>

#include "analyze/tensor_functions.h"
#include "analyze/tensor_rules.h"

namespace tenon::analyze {

const std::vector<TensorFunction>& TensorFunctions() {
  static const auto* const rows = [] {
    auto* table = new std::vector<TensorFunction>;
    auto* names = new std::deque<std::string>;  // the table keeps views of them
    const auto add = [&](std::string_view where, const char* name, const char* op, auto* rule) {
      for (const char place : where) {
        const char* prefix = place == 'M'   ? "torch.Tensor."
                             : place == 'T' ? "torch."
                                            : "torch.nn.functional.";
        names->push_back(std::string(prefix) + name);
        table->push_back({names->back(), op, rule});
      }
    };
#define TENON_FUNCTION(where, name, op, rule) add(where, name, op, rule);
#include "analyze/functions.def"
#undef TENON_FUNCTION
    return table;
  }();
  return *rows;
}

}  // namespace tenon::analyze
