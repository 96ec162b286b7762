// Stage `overlay`: what the platform replaces. A family's package may choose its implementation by
// the platform; the choice itself is made by running the package's text.
#include <fmt/format.h>

#include "analyze/session.h"

namespace tenon::analyze {

void ApplyOverlays(Session& s) {
  if (s.entry == nullptr) return;
  const std::string& chosen = s.main->module->name;
  if (!chosen.starts_with(s.entry->module + ".")) return;
  s.result.overlays.push_back({"platform", s.entry->module, chosen, std::string(s.main->file()),
                               static_cast<int>(s.main->node->line), true,
                               fmt::format("the package's choice on {}", s.platform.name)});
}

}  // namespace tenon::analyze
