#include "analyze/model_index.h"

#include <nlohmann/json.hpp>

#include "analyze/json_attr.h"
#include "base/error.h"
#include "base/text.h"

namespace tenon::analyze {

// The text of data/models.json, embedded by CMake.
std::string_view ModelIndexText();

namespace {

std::string WithoutOwner(std::string_view name) {
  const size_t slash = name.rfind('/');
  return Lower(slash == std::string_view::npos ? name : name.substr(slash + 1));
}

int LineOf(std::string_view text, std::string_view needle) {
  const size_t at = text.find(needle);
  if (at == std::string_view::npos) return 0;
  int line = 1;
  for (size_t i = 0; i < at; ++i) line += text[i] == '\n' ? 1 : 0;
  return line;
}

}  // namespace

const std::vector<IndexedModel>& ModelIndex() {
  static const auto* const index = [] {
    auto* models = new std::vector<IndexedModel>;
    const std::string_view text = ModelIndexText();
    for (const auto& row : nlohmann::ordered_json::parse(text)) {
      IndexedModel model;
      for (const auto& name : row.at("names")) model.names.push_back(name.get<std::string>());
      model.architecture = row.at("architecture").get<std::string>();
      model.model_type = row.at("model_type").get<std::string>();
      model.config_class = row.at("config_class").get<std::string>();
      model.source = row.at("source").get<std::string>();
      model.config = std::get<Attr::Map>(AttrFromJson(row.at("config")).value);
      model.line = LineOf(text, "\"" + model.names[0] + "\"");
      models->push_back(std::move(model));
    }
    return models;
  }();
  return *index;
}

const IndexedModel* FindIndexedModel(std::string_view name) {
  const std::string wanted = WithoutOwner(name);
  const bool has_owner = name.find('/') != std::string_view::npos;
  for (const IndexedModel& model : ModelIndex()) {
    for (const std::string& known : model.names) {
      const bool same = has_owner && known.find('/') != std::string::npos
                            ? Lower(known) == Lower(name)
                            : WithoutOwner(known) == wanted;
      if (same) return &model;
    }
  }
  return nullptr;
}

const IndexedModel* DefaultModel(std::string_view architecture) {
  for (const IndexedModel& model : ModelIndex()) {
    if (model.architecture == architecture) return &model;
  }
  return nullptr;
}

const IndexedModel* FindModelType(std::string_view model_type) {
  for (const IndexedModel& model : ModelIndex()) {
    if (model.model_type == model_type) return &model;
  }
  return nullptr;
}

}  // namespace tenon::analyze
