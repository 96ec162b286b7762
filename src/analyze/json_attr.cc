#include "analyze/json_attr.h"

#include <nlohmann/json.hpp>

namespace tenon::analyze {

Attr AttrFromJson(const nlohmann::ordered_json& json) {
  if (json.is_null()) return {};
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_array()) {
    Attr::List list;
    for (const auto& item : json) list.push_back(AttrFromJson(item));
    return list;
  }
  Attr::Map map;
  for (const auto& [key, value] : json.items()) map.emplace_back(key, AttrFromJson(value));
  return map;
}

nlohmann::ordered_json JsonFromAttr(const Attr& attr) {
  if (const auto* v = std::get_if<bool>(&attr.value)) return *v;
  if (const auto* v = std::get_if<int64_t>(&attr.value)) return *v;
  if (const auto* v = std::get_if<double>(&attr.value)) return *v;
  if (const auto* v = std::get_if<std::string>(&attr.value)) return *v;
  if (const auto* list = std::get_if<Attr::List>(&attr.value)) {
    auto json = nlohmann::ordered_json::array();
    for (const Attr& item : *list) json.push_back(JsonFromAttr(item));
    return json;
  }
  if (const auto* map = std::get_if<Attr::Map>(&attr.value)) {
    auto json = nlohmann::ordered_json::object();
    for (const auto& [key, value] : *map) json[key] = JsonFromAttr(value);
    return json;
  }
  return nullptr;
}

}  // namespace tenon::analyze
