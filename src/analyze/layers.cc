#include "analyze/layers.h"

#include <unordered_map>

namespace tenon::analyze {
namespace {

constexpr Layer kLayers[] = {
#define TENON_LAYER(cls, op, behaviour, attrs) \
  {"vllm.model_executor.layers." cls, op, behaviour, attrs},
#include "analyze/layers.def"
#undef TENON_LAYER
};

}  // namespace

std::span<const Layer> LayerTable() { return kLayers; }

int FindLayer(std::string_view qualified) {
  static const auto* const index = [] {
    auto* map = new std::unordered_map<std::string_view, int>;
    int row = 0;
    for (const Layer& layer : kLayers) map->emplace(layer.cls, row++);
    return map;
  }();
  const auto found = index->find(qualified);
  return found == index->end() ? -1 : found->second;
}

}  // namespace tenon::analyze
