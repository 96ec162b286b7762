#include "ops/reduced_axes.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace tenon::ops {

std::vector<bool> NamedAxes(std::string_view op, std::string_view list_name,
                            const std::vector<int64_t>& list, int rank) {
  std::vector<bool> named(static_cast<size_t>(rank), list.empty());
  const int64_t axes = std::max(rank, 1);  // a number is taken as a tensor of one element
  std::vector<bool> seen(static_cast<size_t>(axes), false);
  for (int64_t number : list) {
    TENON_CHECK(number >= -axes && number < axes, "{}: {} must be in [{}, {}] for {}, got {}", op,
                list_name, -axes, axes - 1, rank == 1 ? "1 axis" : fmt::format("{} axes", rank),
                number);
    const auto axis = static_cast<size_t>(number < 0 ? number + axes : number);
    TENON_CHECK(!seen[axis], "{}: {} must name each axis once, got {}", op, list_name,
                ShapeText(list));
    seen[axis] = true;
    if (rank > 0) named[axis] = true;
  }
  return named;
}

Tensor NamedAxesLast(const Tensor& x, const std::vector<bool>& named) {
  Tensor view = x;
  view.rank = 0;
  for (const bool last : {false, true}) {
    for (int axis = 0; axis < x.rank; ++axis) {
      if (named[static_cast<size_t>(axis)] != last) continue;
      view.sizes[view.rank] = x.sizes[axis];
      view.strides[view.rank++] = x.strides[axis];
    }
  }
  return view;
}

std::vector<int64_t> ReducedShape(std::span<const int64_t> shape, const std::vector<bool>& named,
                                  bool keep) {
  std::vector<int64_t> reduced;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (!named[axis]) reduced.push_back(shape[axis]);
    if (named[axis] && keep) reduced.push_back(1);
  }
  return reduced;
}

}  // namespace tenon::ops
