#include "report/compare.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "report/words.h"

namespace tenon::report {
namespace {

constexpr std::array<std::string_view, 6> kStatuses = {"open",    "optin",   "fused",
                                                       "no_gain", "blocked", "absent"};

// Facts that two reports of the same model have in common when nothing changed, without line
// numbers, which every edit of a file moves.
std::vector<std::string> Facts(const Report& report) {
  std::vector<std::string> facts;
  const analyze::Locations& places = report.analysis.locations;
  const auto place = [&](std::string_view role, const analyze::Location& at) {
    facts.push_back(fmt::format("{}: {} in {}", role, at.cls, at.file));
  };
  place("main class", places.main.location);
  for (const auto& layer : places.decoder_layers) place("decoder layer", layer.location);
  for (const auto& layer : places.attention) place("attention", layer.location);
  for (const auto& layer : places.mlp) place("mlp", layer.location);
  for (const analyze::Variant& variant : report.analysis.variants) {
    const std::string head =
        fmt::format("{} (layers {})", variant.layer_class, LayersText(variant.layers));
    std::map<std::string, int> seen;
    for (const analyze::Op& op : variant.ops) {
      const std::string name = op.op + (op.name ? " " + *op.name : "");
      const int times = ++seen[name];
      facts.push_back(
          fmt::format("{}: {}{}", head, name, times > 1 ? fmt::format(" (time {})", times) : ""));
    }
  }
  for (const fuse::Opportunity& o : report.findings.opportunities) {
    if (o.status == "absent") continue;
    facts.push_back(fmt::format("{} {} (variant {}): {}", o.scene, ChainText(report, o, " → "),
                                o.variant, o.status));
  }
  return facts;
}

void OnlyIn(const std::vector<std::string>& facts, std::vector<std::string> others, char sign,
            std::vector<std::string>& out) {
  std::sort(others.begin(), others.end());
  for (const std::string& fact : facts) {
    if (!std::binary_search(others.begin(), others.end(), fact)) {
      out.push_back(fmt::format("{} {}", sign, fact));
    }
  }
}

}  // namespace

std::vector<std::string> UnmetExpectations(const Report& report, std::string_view expectations,
                                           std::string_view name) {
  std::vector<std::string> unmet;
  int number = 0;
  for (const std::string& raw : Split(expectations, '\n')) {
    ++number;
    const std::string line(Strip(std::string_view(raw).substr(0, raw.find('#'))));
    if (line.empty()) continue;
    const size_t space = line.find(' ');
    const std::string scene = line.substr(0, space);
    const std::string status(space == std::string::npos ? "" : Strip(line.substr(space)));
    TENON_CHECK(std::find(kStatuses.begin(), kStatuses.end(), status) != kStatuses.end(),
                "{}:{}: expected 'SCENE STATUS' such as 'A1 fused', got '{}'", name, number, line);
    std::vector<std::string> found;
    for (const fuse::Opportunity& o : report.findings.opportunities) {
      if (o.scene == scene) found.push_back(o.status);
    }
    if (std::find(found.begin(), found.end(), status) != found.end()) continue;
    unmet.push_back(fmt::format("{}:{}: expected {} {}, the report has {}", name, number, scene,
                                status, found.empty() ? "no " + scene : Join(found, ", ")));
  }
  return unmet;
}

std::vector<std::string> Differences(const Report& old, const Report& now) {
  std::vector<std::string> out;
  const std::vector<std::string> before = Facts(old);
  const std::vector<std::string> after = Facts(now);
  OnlyIn(before, after, '-', out);
  OnlyIn(after, before, '+', out);
  return out;
}

}  // namespace tenon::report
