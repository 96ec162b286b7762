#include "ops/row_limit.h"

#include <limits>

#include "base/dtype.h"
#include "base/error.h"
#include "ops/strided.h"

namespace tenon::ops {

int64_t RowsToCompute(const Resolved& call) {
  constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
  const std::optional<RowLimit>& limit = call.op->contract().row_limit();
  if (!limit) return kAll;
  const BoundInput& list = *call.FindInput(limit->list);
  if (!list.present) return kAll;
  const int64_t rows = call.sizes.at("tokens");
  const bool counts = std::get<int64_t>(call.attributes.at(limit->cumulative)) != 0;
  int64_t wanted = 0;
  ForEachElement(list.view, [&](int64_t offset) {
    const auto value = static_cast<int64_t>(LoadElement(list.view.data, list.view.dtype, offset));
    wanted = counts ? wanted + value : value;
  });
  TENON_CHECK(wanted >= 0 && wanted <= rows, "{}: {} must count at most the {} rows of {}, got {}",
              call.name(), limit->list, rows, call.inputs[0].param->name, wanted);
  return wanted;
}

}  // namespace tenon::ops
