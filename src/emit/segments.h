// How the elements of an output are walked: middle axes as loops, the last axis in vector lanes,
// cut into segments where the value is put together from parts.
#pragma once

#include <string>
#include <vector>

#include "emit/plan.h"

namespace tenon::emit {

// A run of lanes that one expression describes.
struct OutputSegment {
  ir::Dim lanes;            // number of lanes; 0 for one value per row
  std::vector<ir::Dim> at;  // index in the output's axes (of a pair's even element)
  std::vector<std::vector<ir::Dim>> values_at;  // one, or even and odd element of a pair
};

struct OutputLoops {
  std::vector<ir::Axis> rows;  // outermost first, the row axis excepted
  std::vector<OutputSegment> segments;
};

OutputLoops LoopsOfOutput(const ir::Graph& graph, ir::NodeId value, const std::string& row_axis);

// The values that `value` is computed from. A reduction has none here: it is another loop's.
std::vector<ValueAt> ArgsOf(const ir::Graph& graph, const ValueAt& value,
                            const std::map<std::string, ir::Dim>& extents);

}  // namespace tenon::emit
