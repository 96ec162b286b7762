// Between JSON and Attr.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "analyze/analysis.h"

namespace tenon::analyze {

Attr AttrFromJson(const nlohmann::ordered_json& json);
nlohmann::ordered_json JsonFromAttr(const Attr& attr);

}  // namespace tenon::analyze
