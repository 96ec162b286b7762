#include "fuse/match.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "fuse/conditions.h"

namespace tenon::fuse {

bool IsNorm(std::string_view op) { return op.ends_with("_norm") || op == "rms_norm_gated"; }

bool IsProjection(std::string_view op) {
  return op.ends_with("_proj") || op == "linear" || op == "matmul" || op == "bmm" ||
         op == "router_gate" || op == "shared_expert_gate";
}

bool Match::Contains(int step) const {
  return std::find(steps.begin(), steps.end(), step) != steps.end();
}

int Match::Find(std::string_view op) const {
  for (const int step : steps) {
    const std::string& name = sequence->step(step).op;
    if (op.starts_with('*') ? name.ends_with(op.substr(1)) : name == op) return step;
  }
  return -1;
}

int Match::FindNorm() const {
  for (const int step : steps) {
    if (IsNorm(sequence->step(step).op)) return step;
  }
  return -1;
}

namespace {

// Whether `use` reads the value as the operand that the operator works on: the first one of norms,
// products and collectives, any of the others.
bool IsMainOperand(const Sequence& sequence, const Use& use) {
  const std::string& op = sequence.step(use.step).op;
  return use.operand == 0 || !(IsNorm(op) || IsProjection(op) || op == "fused_moe") ||
         op == "qk_norm";
}

class Matcher {
 public:
  Matcher(const Scene& scene, const Sequence& sequence, const Sequence* next, const Model& model)
      : scene_(scene),
        items_(ParseChain(scene.chain)),
        sequence_(sequence),
        next_(next),
        model_(model) {
    for (const ChainItem& item : items_) needed_ += !item.optional && !item.context;
  }

  void Run(MatchResult& result) {
    const size_t first = items_[0].context ? 1 : 0;
    for (int start = 0; start < sequence_.size(); ++start) {
      if (first == 1 && !FedBy(start)) continue;
      Try(start, first);
    }
    DropCovered();
    result.matches.insert(result.matches.end(), matches_.begin(), matches_.end());
    result.stops.insert(result.stops.end(), stops_.begin(), stops_.end());
  }

 private:
  bool FedBy(int start) const {
    for (const Operand& operand : sequence_.step(start).in) {
      if (operand.producer >= 0 && items_[0].Accepts(sequence_.step(operand.producer).op)) {
        return true;
      }
    }
    return false;
  }

  void Try(int start, size_t first) {
    // Leading optional items: the match may begin at any of them.
    for (size_t item = first; item < items_.size(); ++item) {
      if (items_[item].Accepts(sequence_.step(start).op)) {
        Match match{&scene_, &sequence_, {start}, nullptr, std::nullopt, {}};
        Extend(match, item);
      }
      if (!items_[item].optional) break;
    }
  }

  // `match` ends with a step that item `item` accepted.
  void Extend(const Match& match, size_t item) {
    if (item + 1 == items_.size()) {
      if (!items_[item].repeated || !ExtendWith(match, item)) Accept(match);
      return;
    }
    if (items_[item].repeated && ExtendWith(match, item)) return;
    bool extended = false;
    for (size_t to = item + 1; to < items_.size() && !extended; ++to) {
      extended = ExtendWith(match, to);
      if (!items_[to].optional) break;
    }
    if (!extended) Miss(match);
  }

  bool ExtendWith(const Match& match, size_t item) {
    bool found = false;
    for (const int step : Candidates(match, items_[item])) {
      Match longer = match;
      longer.steps.push_back(step);
      Extend(longer, item);
      found = true;
    }
    if (!found && item + 1 == items_.size()) found = Cross(match, items_[item]);
    return found;
  }

  std::vector<int> Candidates(const Match& match, const ChainItem& item) const {
    std::set<int> found;
    if (item.sibling) {
      const ir::NodeId root = sequence_.step(match.last()).in.at(0).root;
      for (int i = match.last() + 1; i < sequence_.size(); ++i) {
        const Step& step = sequence_.step(i);
        if (!step.in.empty() && step.in[0].root == root && item.Accepts(step.op)) {
          return {i};
        }
      }
      return {};
    }
    Consumers(match, match.last(), item, found);
    return {found.begin(), found.end()};
  }

  // Consumers of `step` that `item` accepts, seen through views and auxiliary operators.
  void Consumers(const Match& match, int step, const ChainItem& item, std::set<int>& found) const {
    for (const Use& use : sequence_.Uses(step)) {
      const Step& consumer = sequence_.step(use.step);
      if (match.Contains(use.step)) continue;
      if (item.Accepts(consumer.op)) {
        if (IsMainOperand(sequence_, use)) found.insert(use.step);
      } else if (consumer.aux || consumer.is_view) {
        Consumers(match, use.step, item, found);
      }
    }
  }

  // The last operator may be the one that the following layer starts with.
  bool Cross(const Match& match, const ChainItem& item) {
    if (!scene_.crosses_layers || next_ == nullptr) return false;
    if (!sequence_.Uses(match.last()).empty()) return false;
    for (int i = 0; i < next_->size(); ++i) {
      const Step& step = next_->step(i);
      if (step.aux || step.in.empty()) continue;
      if (step.in[0].producer >= 0 || !item.Accepts(step.op)) return false;
      Match crossing = match;
      crossing.next = next_;
      crossing.next_step = i;
      Accept(crossing);
      return true;
    }
    return false;
  }

  void Accept(const Match& match) {
    std::optional<std::string> violation = ForeignConsumer(match);
    if (!violation) violation = FirstViolation(kAlwaysLegal, match, model_);
    if (!violation) violation = FirstViolation(scene_.legal, match, model_);
    if (!violation) {
      matches_.push_back(match);
    } else if (needed_ > 1) {
      stops_.push_back({match, needed_, needed_, match.next_step ? -1 : match.last(), *violation});
    }
  }

  void Miss(const Match& match) {
    // Optional operators do not count; the chain lacks one at least.
    const int matched = std::min(static_cast<int>(match.steps.size()), needed_ - 1);
    if (matched < scene_.near_from) return;
    Stop stop{match, matched, needed_, -1, ""};
    for (const Use& use : sequence_.Uses(match.last())) {
      if (stop.at < 0 || use.step < stop.at) stop.at = use.step;
    }
    stop.condition = stop.at < 0 ? "the layer ends here" : "not what the chain needs next";
    stops_.push_back(std::move(stop));
  }

  static bool Covers(const Match& longer, const Match& shorter) {
    return std::all_of(shorter.steps.begin(), shorter.steps.end(),
                       [&](int step) { return longer.Contains(step); });
  }

  // Keeps the longest matches, and the longest stops that no match covers.
  void DropCovered() {
    std::vector<Match> kept;
    for (const Match& match : matches_) {
      const bool covered = std::any_of(matches_.begin(), matches_.end(), [&](const Match& other) {
        return Length(other) > Length(match) && Covers(other, match);
      });
      const bool repeated = std::any_of(kept.begin(), kept.end(), [&](const Match& other) {
        return Length(other) == Length(match) && Covers(other, match);
      });
      if (!covered && !repeated) kept.push_back(match);
    }
    matches_ = std::move(kept);
    std::vector<Stop> stopped;
    for (const Stop& stop : stops_) {
      const auto covers = [&](const Match& other) { return Covers(other, stop.match); };
      const bool longer = std::any_of(stops_.begin(), stops_.end(), [&](const Stop& other) {
        return Length(other.match) > Length(stop.match) && covers(other.match);
      });
      const bool repeated = std::any_of(stopped.begin(), stopped.end(),
                                        [&](const Stop& other) { return covers(other.match); });
      if (!longer && !repeated && std::none_of(matches_.begin(), matches_.end(), covers)) {
        stopped.push_back(stop);
      }
    }
    stops_ = std::move(stopped);
  }

  static size_t Length(const Match& match) {
    return match.steps.size() + match.next_step.has_value();
  }

  const Scene& scene_;
  const std::vector<ChainItem> items_;
  const Sequence& sequence_;
  const Sequence* next_;
  const Model& model_;
  int needed_ = 0;
  std::vector<Match> matches_;
  std::vector<Stop> stops_;
};

// Shorter matches that a longer one of a scene that lists them takes in.
void Subsume(std::vector<Match>& matches) {
  std::vector<bool> dropped(matches.size(), false);
  for (size_t i = 0; i < matches.size(); ++i) {
    const auto& shorter_scenes = matches[i].scene->subsumes;
    for (size_t k = 0; k < matches.size(); ++k) {
      const bool listed = std::find(shorter_scenes.begin(), shorter_scenes.end(),
                                    matches[k].scene->id) != shorter_scenes.end();
      if (i == k || !listed) continue;
      const bool inside = std::all_of(matches[k].steps.begin(), matches[k].steps.end(),
                                      [&](int step) { return matches[i].Contains(step); }) &&
                          (!matches[k].next_step || matches[k].next_step == matches[i].next_step);
      if (!inside || matches[k].steps.size() > matches[i].steps.size()) continue;
      dropped[k] = true;
      const std::string id(matches[k].scene->id);
      auto& names = matches[i].subsumes;
      if (std::find(names.begin(), names.end(), id) == names.end()) names.push_back(id);
    }
  }
  std::vector<Match> kept;
  for (size_t i = 0; i < matches.size(); ++i) {
    if (!dropped[i]) kept.push_back(std::move(matches[i]));
  }
  matches = std::move(kept);
}

}  // namespace

std::optional<std::string> ForeignConsumer(const Match& match) {
  if (match.scene->multi_output) return std::nullopt;
  const Sequence& sequence = *match.sequence;
  const size_t intermediates = match.steps.size() - (match.next_step ? 0 : 1);
  const auto chain = ParseChain(match.scene->chain);
  const bool siblings =
      std::any_of(chain.begin(), chain.end(), [](const ChainItem& item) { return item.sibling; });
  for (size_t i = 0; i < intermediates && !siblings; ++i) {
    const Step& step = sequence.step(match.steps[i]);
    if (step.is_view) continue;
    for (size_t result = 0; result < step.results.size(); ++result) {
      if (result > 0 && IsNorm(step.op) && step.op != "qk_norm") continue;  // the residual stream
      for (const Use& use : sequence.Uses(match.steps[i], static_cast<int>(result))) {
        const Step& consumer = sequence.step(use.step);
        if (match.Contains(use.step) || consumer.is_view) continue;
        if (consumer.aux && use.step < match.last()) continue;
        return fmt::format("{} is also read by {} ({}:{})", step.op, consumer.op,
                           sequence.span(use.step).file, sequence.span(use.step).line);
      }
    }
  }
  return std::nullopt;
}

MatchResult MatchLayer(const Sequence& sequence, const Sequence* next, const Model& model) {
  MatchResult result;
  for (const Scene& scene : Scenes()) Matcher(scene, sequence, next, model).Run(result);
  // Another row of the same scene may have taken the operators.
  std::erase_if(result.stops, [&](const Stop& stop) {
    return std::any_of(result.matches.begin(), result.matches.end(), [&](const Match& match) {
      return match.scene->id == stop.match.scene->id &&
             std::all_of(stop.match.steps.begin(), stop.match.steps.end(),
                         [&](int step) { return match.Contains(step); });
    });
  });
  Subsume(result.matches);
  return result;
}

}  // namespace tenon::fuse
