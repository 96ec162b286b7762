// The table of known layers: layers.def.
#pragma once

#include <span>
#include <string_view>

namespace tenon::analyze {

struct Layer {
  std::string_view cls;        // fully qualified
  std::string_view op;         // canonical operator
  std::string_view behaviour;  // class of the stand-in text tenon.layers
  std::string_view attrs;      // "kind=yarn": constant attributes of the operator
};

std::span<const Layer> LayerTable();
int FindLayer(std::string_view qualified);  // row, or -1

}  // namespace tenon::analyze
