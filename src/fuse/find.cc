#include "fuse/find.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "fuse/conditions.h"
#include "fuse/cost.h"
#include "fuse/describe.h"
#include "ir/printer.h"

namespace tenon::fuse {
namespace {

// Shares of a layer's roofline time from which a gain counts as large and as middling.
constexpr double kLargeGain = 0.03;
constexpr double kMiddlingGain = 0.01;

bool AppliesTo(const DoneBy& done, std::string_view platform) {
  if (done.platforms == "any") return true;
  const std::vector<std::string> names = Split(done.platforms, ' ');
  return std::find(names.begin(), names.end(), platform) != names.end();
}

// The variant that most layers after `layer`'s are of; -1 when it is the last.
int FollowingVariant(const Model& model, const Layer& layer) {
  std::map<int, int> votes;  // position in model.layers -> count
  for (const int number : layer.layers) {
    for (size_t i = 0; i < model.layers.size(); ++i) {
      const auto& numbers = model.layers[i].layers;
      if (std::find(numbers.begin(), numbers.end(), number + 1) != numbers.end()) {
        ++votes[static_cast<int>(i)];
      }
    }
  }
  const auto best = std::max_element(
      votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return best == votes.end() ? -1 : best->first;
}

class Finder {
 public:
  Finder(const Model& model, const backend::DeviceProfile& profile)
      : model_(model),
        cost_(profile, model.dtype, model.platform == "cuda" || model.platform == "rocm") {
    model_.cache_bytes = static_cast<int64_t>(profile.cache_bytes.value);
    for (const Layer& layer : model_.layers) sequences_.emplace_back(layer);
  }

  Findings Run() {
    for (size_t i = 0; i < sequences_.size(); ++i) {
      const int next = FollowingVariant(model_, model_.layers[i]);
      const MatchResult result = MatchLayer(
          sequences_[i], next < 0 ? nullptr : &sequences_[static_cast<size_t>(next)], model_);
      std::set<std::string> seen;
      for (const Match& match : result.matches) {
        seen.insert(std::string(match.scene->id));
        for (const std::string& shorter : match.subsumes) seen.insert(shorter);
        AddMatch(match);
      }
      AddFusedKernels(sequences_[i], seen);
      for (const Stop& stop : result.stops) AddNearMiss(sequences_[i], stop);
      AddAbsent(sequences_[i], seen);
    }
    Rank();
    findings_.dead = model_.dead;
    return std::move(findings_);
  }

 private:
  struct Entry {
    Opportunity opportunity;
    double best_us = 0;
    int effort = 0;
  };

  void AddMatch(const Match& match) {
    const Scene& scene = *match.scene;
    Entry entry;
    entry.effort = scene.effort;
    Opportunity& o = entry.opportunity;
    o.scene = scene.id;
    o.type = scene.type;
    o.title = scene.title;
    o.variant = match.sequence->layer().variant;
    o.ops = OpsOf(match);
    o.files = FilesOf(match);
    o.subsumes = match.subsumes;
    if (match.next_step) {
      o.next = NextLayer{match.next->layer().variant, {match.next->step(*match.next_step).index}};
    }
    SetStatus(match, o);
    AddBenefit(match, entry);
    if (o.status == "open" || o.status == "optin") AddBody(match, o);
    if (!o.interface && !scene.interface.empty() && o.status != "fused") {
      o.interface = InterfaceText(match, nullptr, model_);
    }
    entries_.push_back(std::move(entry));
  }

  void SetStatus(const Match& match, Opportunity& o) const {
    const Scene& scene = *match.scene;
    o.status = "open";
    if (auto sentence = FirstViolation(scene.blocked_unless, match, model_)) {
      o.status = "blocked";
      o.reason = sentence;
      return;
    }
    if (auto sentence = FirstViolation(scene.no_gain_unless, match, model_)) {
      o.status = "no_gain";
      o.reason = sentence;
      return;
    }
    std::vector<std::string> declined;
    for (const DoneBy& done : scene.done) {
      if (!AppliesTo(done, model_.platform)) continue;
      if (auto sentence = FirstViolation(done.when, match, model_)) {
        declined.push_back(fmt::format("{} does not apply: {}", done.by, *sentence));
        continue;
      }
      o.status = done.status;
      o.by = done.by;
      if (!done.flag.empty()) o.flag = done.flag;
      return;
    }
    if (!declined.empty()) o.reason = Join(declined, "; ");
  }

  // Bytes, launches and time at each token count; the status follows when nothing gains anywhere.
  void AddBenefit(const Match& match, Entry& entry) const {
    Opportunity& o = entry.opportunity;
    const Scene& scene = *match.scene;
    std::vector<std::string> arithmetic;
    double layer_share = 0;
    bool gains = false;
    bool known = true;
    for (const int64_t tokens : model_.tokens) {
      const auto traffic = CountTraffic(match, tokens);
      if (!traffic) {
        known = false;
        continue;
      }
      const ir::Cost& after = scene.name.empty() ? traffic->before : traffic->after;
      o.benefit.launches_before = traffic->before.launches;
      o.benefit.launches_after = after.launches;
      const bool beyond = scene.max_tokens > 0 && tokens > scene.max_tokens;
      const double saved = beyond || scene.name.empty() ? 0 : cost_.SavedUs(*traffic);
      o.benefit.per_tokens.push_back(
          {tokens, traffic->before.bytes(), after.bytes(), saved, saved > 0});
      gains = gains || saved > 0;
      entry.best_us = std::max(entry.best_us, saved);
      const double layer_us = cost_.LayerUs(LayerTraffic(*match.sequence, tokens));
      if (layer_us > 0) layer_share = std::max(layer_share, saved / layer_us);
      arithmetic.push_back(fmt::format(
          "{} tokens: {}", tokens,
          beyond ? fmt::format("more than {}", scene.max_tokens) : cost_.Arithmetic(*traffic)));
    }
    o.benefit.condition = scene.no_gain_when;
    const bool proposed = o.status == "open" || o.status == "optin";
    if (proposed && known && !gains) {
      o.status = "no_gain";
      o.reason = Join(arithmetic, "; ");
    } else if (proposed) {
      o.priority = layer_share >= kLargeGain ? 1 : layer_share >= kMiddlingGain ? 2 : 3;
      if (!arithmetic.empty()) {
        o.benefit.condition += fmt::format(
            "{}predicted: {}", o.benefit.condition.empty() ? "" : " | ", Join(arithmetic, "; "));
      }
    }
  }

  void AddBody(const Match& match, Opportunity& o) const {
    if (!match.scene->row_wise) return;
    try {
      const ir::Graph body = ComposeMatch(match, model_);
      o.ir = ir::PrintGraph(body);
      o.interface = InterfaceText(match, &body, model_);
    } catch (const UsageError& e) {
      const std::string sentence = fmt::format("not generated yet: {}", e.what());
      o.reason = o.reason ? *o.reason + "; " + sentence : sentence;
    }
  }

  // Kernels of the source that say what they replace.
  void AddFusedKernels(const Sequence& s, std::set<std::string>& seen) {
    for (int i = 0; i < s.size(); ++i) {
      std::string covers = s.Word(i, "covers");
      if (s.step(i).op != "fused_kernel" || covers.size() < 2) continue;
      covers = covers.substr(1, covers.size() - 2);
      std::vector<std::string> names;
      for (const std::string& name : Split(covers, ',')) names.emplace_back(Strip(name));
      for (const Scene& scene : Scenes()) {
        if (scene.done.empty() && scene.name.empty()) continue;
        if (seen.contains(std::string(scene.id)) || !CoversChain(scene, names)) continue;
        seen.insert(std::string(scene.id));
        Entry entry;
        Opportunity& o = entry.opportunity;
        o.scene = scene.id;
        o.type = scene.type;
        o.title = scene.title;
        o.variant = s.layer().variant;
        o.ops = {s.step(i).index};
        o.status = "fused";
        o.by = s.Word(i, "kernel");
        o.files = {{s.span(i).file, {s.span(i).line}}};
        entries_.push_back(std::move(entry));
      }
    }
  }

  // The chain's operators, optional ones aside, stand one after the other in `names`.
  static bool CoversChain(const Scene& scene, const std::vector<std::string>& names) {
    std::vector<ChainItem> items;
    for (ChainItem& item : ParseChain(scene.chain)) {
      if (!item.optional && !item.context) items.push_back(std::move(item));
    }
    if (items.size() < 2) return false;
    for (size_t start = 0; start + items.size() <= names.size(); ++start) {
      size_t k = 0;
      while (k < items.size() && items[k].Accepts(names[start + k])) ++k;
      if (k == items.size()) return true;
    }
    return false;
  }

  void AddNearMiss(const Sequence& s, const Stop& stop) {
    NearMiss miss;
    miss.scene = stop.match.scene->id;
    miss.variant = s.layer().variant;
    miss.ops = OpsOf(stop.match);
    miss.matched = stop.matched;
    miss.of = stop.of;
    const int at = stop.at < 0 ? stop.match.last() : stop.at;
    if (stop.at >= 0 && !stop.match.Contains(at)) miss.ops.push_back(s.step(at).index);
    miss.stopped_at = fmt::format("{}: {}", s.step(at).op, stop.condition);
    miss.file = s.span(at).file;
    miss.line = s.span(at).line;
    findings_.near_misses.push_back(std::move(miss));
  }

  void AddAbsent(const Sequence& s, std::set<std::string>& seen) {
    for (const Scene& scene : Scenes()) {
      if (!seen.insert(std::string(scene.id)).second) continue;
      Entry entry;
      entry.opportunity.scene = scene.id;
      entry.opportunity.type = scene.type;
      entry.opportunity.title = scene.title;
      entry.opportunity.variant = s.layer().variant;
      entry.opportunity.status = "absent";
      entries_.push_back(std::move(entry));
    }
  }

  // Proposals by time saved, then by effort; the rest in the order of the table.
  void Rank() {
    const auto group = [](const Entry& entry) {
      const std::string& status = entry.opportunity.status;
      if (status == "open" || status == "optin") return 0;
      if (status == "fused") return 1;
      if (status == "no_gain") return 2;
      return status == "blocked" ? 3 : 4;
    };
    std::stable_sort(entries_.begin(), entries_.end(), [&](const Entry& a, const Entry& b) {
      if (group(a) != group(b)) return group(a) < group(b);
      if (group(a) != 0) return false;
      if (a.best_us != b.best_us) return a.best_us > b.best_us;
      return a.effort < b.effort;
    });
    for (Entry& entry : entries_) {
      entry.opportunity.id = static_cast<int>(findings_.opportunities.size()) + 1;
      findings_.opportunities.push_back(std::move(entry.opportunity));
    }
  }

  Model model_;
  CostModel cost_;
  std::vector<Sequence> sequences_;
  std::vector<Entry> entries_;
  Findings findings_;
};

}  // namespace

Findings FindFusions(const Model& model, const backend::DeviceProfile& profile) {
  return Finder(model, profile).Run();
}

}  // namespace tenon::fuse
