// The shipped index of public models: names, architecture, configuration values, source of each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyze/analysis.h"

namespace tenon::analyze {

struct IndexedModel {
  std::vector<std::string> names;
  std::string architecture;
  std::string model_type;
  std::string config_class;
  std::string source;
  Attr::Map config;
  int line = 0;  // of its names in data/models.json
};

const std::vector<IndexedModel>& ModelIndex();
constexpr const char* kModelIndexFile = "models.json";

// By exact name, lower-cased, with or without the owner.
const IndexedModel* FindIndexedModel(std::string_view name);
// The first model of that architecture: its values are the architecture's defaults.
const IndexedModel* DefaultModel(std::string_view architecture);
const IndexedModel* FindModelType(std::string_view model_type);

}  // namespace tenon::analyze
