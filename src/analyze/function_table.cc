// The rows of functions.def, one per dotted name.
#include <deque>

#include "analyze/tensor_functions.h"
#include "analyze/tensor_rules.h"

namespace tenon::analyze {

namespace {

struct FunctionRows {
  std::deque<std::string> names;  // the rows keep views of them
  std::vector<TensorFunction> rows;
};

FunctionRows MakeFunctionRows() {
  FunctionRows table;
  const auto add = [&](std::string_view where, const char* name, const char* op, auto* rule) {
    for (const char place : where) {
      const char* prefix = place == 'M'   ? "torch.Tensor."
                           : place == 'T' ? "torch."
                                          : "torch.nn.functional.";
      table.names.push_back(std::string(prefix) + name);
      table.rows.push_back({table.names.back(), op, rule});
    }
  };
#define TENON_FUNCTION(where, name, op, rule) add(where, name, op, rule);
#include "analyze/functions.def"
#undef TENON_FUNCTION
  return table;
}

}  // namespace

const std::vector<TensorFunction>& TensorFunctions() {
  static const FunctionRows table = MakeFunctionRows();
  return table.rows;
}

}  // namespace tenon::analyze
