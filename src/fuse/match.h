// Finds the chains of the pattern table in a layer's operator sequence.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fuse/scenes.h"
#include "fuse/steps.h"

namespace tenon::fuse {

struct Match {
  const Scene* scene = nullptr;
  const Sequence* sequence = nullptr;
  std::vector<int> steps;             // of `sequence`, in the order of the chain
  const Sequence* next = nullptr;     // the following layer, when the chain ends there
  std::optional<int> next_step;       // of `next`
  std::vector<std::string> subsumes;  // scenes of shorter matches on the same operators

  bool Contains(int step) const;
  // The first matched step whose operator is `op` (or ends with it after '*'); -1 when there is
  // none in `sequence`.
  int Find(std::string_view op) const;
  int FindNorm() const;  // the same for any norm
  int last() const { return steps.back(); }
};

// A chain that stopped: `match` holds the steps so far.
struct Stop {
  Match match;
  int matched = 0;
  int of = 0;             // operators that the chain needs
  int at = -1;            // step that stopped it, -1: the end of the layer
  std::string condition;  // what did not hold
};

struct MatchResult {
  std::vector<Match> matches;
  std::vector<Stop> stops;
};

// `next` is the layer that follows, null for the last one.
MatchResult MatchLayer(const Sequence& sequence, const Sequence* next, const Model& model);

// True when fusing `match` leaves every intermediate value with its consumers: values read only by
// matched steps, or that the scene writes anyway. Otherwise the sentence.
std::optional<std::string> ForeignConsumer(const Match& match);

bool IsNorm(std::string_view op);
bool IsProjection(std::string_view op);

}  // namespace tenon::fuse
