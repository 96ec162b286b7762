#include "fuse/match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fuse/conditions.h"
#include "fuse/traffic.h"
#include "layer_builder.h"

namespace tenon::fuse {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Found {
  explicit Found(Model of)
      : model(std::move(of)),
        sequence(model.layers[0]),
        result(MatchLayer(sequence, &sequence, model)) {}

  std::vector<const Match*> Of(std::string_view scene) const {
    std::vector<const Match*> found;
    for (const Match& match : result.matches) {
      if (match.scene->id == scene) found.push_back(&match);
    }
    return found;
  }
  std::vector<const Stop*> StopsOf(std::string_view scene) const {
    std::vector<const Stop*> found;
    for (const Stop& stop : result.stops) {
      if (stop.match.scene->id == scene) found.push_back(&stop);
    }
    return found;
  }

  const Model model;
  Sequence sequence;
  MatchResult result;
};

std::vector<std::string> Names(const Match& match) {
  std::vector<std::string> names;
  for (const int step : match.steps) names.push_back(match.sequence->step(step).op);
  return names;
}

TEST(Scenes, EveryRowParsesAndNamesKnownConditions) {
  const auto known = ConditionNames();
  EXPECT_TRUE(std::is_sorted(known.begin(), known.end()));
  for (const Scene& scene : Scenes()) {
    EXPECT_FALSE(ParseChain(scene.chain).empty()) << scene.id;
    auto names = scene.legal;
    names.insert(names.end(), std::begin(kAlwaysLegal), std::end(kAlwaysLegal));
    names.insert(names.end(), scene.blocked_unless.begin(), scene.blocked_unless.end());
    names.insert(names.end(), scene.no_gain_unless.begin(), scene.no_gain_unless.end());
    for (const DoneBy& done : scene.done) {
      names.insert(names.end(), done.when.begin(), done.when.end());
      EXPECT_TRUE(done.status == "fused" || (done.status == "optin" && !done.flag.empty()));
    }
    for (const auto name : names) EXPECT_THAT(known, Contains(name)) << scene.id;
    // What can be proposed has a name and an interface that starts with it or its packed form.
    EXPECT_EQ(scene.name.empty(), scene.interface.empty()) << scene.id << " " << scene.chain;
  }
}

TEST(Scenes, AMalformedChainIsRefused) {
  EXPECT_THROW(ParseChain("add [mul"), UsageError);
  EXPECT_THROW(ParseChain("{add,mul"), UsageError);
  EXPECT_THROW(ParseChain("add [mul]"), UsageError);
}

TEST(Match, QkNormAndRopeAreOneChainFromTheSplit) {
  const Model model = QwenModel({});
  const Found found(model);
  ASSERT_THAT(found.Of("A1"), SizeIs(1));
  EXPECT_THAT(Names(*found.Of("A1")[0]), ElementsAre("split", "qk_norm", "rotary_embedding"));
  EXPECT_THAT(found.Of("A1")[0]->subsumes, ElementsAre("N2"));
  EXPECT_THAT(found.Of("N2"), IsEmpty());
}

TEST(Match, RopeBeforeTheNormIsNotTheScene) {
  const Found found(QwenModel({.rope_first = true}));
  EXPECT_THAT(found.Of("A1"), IsEmpty());
  EXPECT_THAT(found.Of("N2"), IsEmpty());
  ASSERT_THAT(found.StopsOf("N2"), SizeIs(1));
}

TEST(Match, ANormOverAllHeadsTurnsIntoTheFormWithAReduction) {
  const Model model = QwenModel({.full_width_norm = true});
  const Found found(model);
  ASSERT_THAT(found.Of("A1"), SizeIs(1));
  const Match& match = *found.Of("A1")[0];
  EXPECT_EQ(match.scene->name, "split_qkv_tp_rmsnorm_rope");
  EXPECT_THAT(Violation("rank_local_statistic", match, model).value_or(""), HasSubstr("2 ranks"));
}

TEST(Match, ASecondConsumerOfTheNormRemovesTheGatedMlpPrologue) {
  EXPECT_THAT(Found(QwenModel({})).Of("N3"), SizeIs(1));
  const Found found(QwenModel({.reuse_norm_output = true}));
  EXPECT_THAT(found.Of("N3"), IsEmpty());
  ASSERT_THAT(found.StopsOf("N3"), SizeIs(1));
  EXPECT_THAT(found.StopsOf("N3")[0]->condition, HasSubstr("is also read by router_gate"));
}

TEST(Match, AReduceAtTheEndOfALayerMeetsTheNextLayersNorm) {
  const Found found(QwenModel({}));
  const auto matches = found.Of("N5");
  ASSERT_THAT(matches, SizeIs(2));
  EXPECT_FALSE(matches[0]->next_step.has_value());
  ASSERT_TRUE(matches[1]->next_step.has_value());
  EXPECT_EQ(matches[1]->next->step(*matches[1]->next_step).op, "fused_add_rms_norm");
  EXPECT_THAT(Found(QwenModel({.tp = 1})).Of("N5"), IsEmpty());
}

// down_proj [-> all_reduce] -> add(residual), then a norm.
Model PostNormModel(bool reduce, bool scaled) {
  LayerBuilder b("Layer");
  const auto x = b.New({64});
  const auto residual = b.New({64});
  auto y = b.New({64});
  b.Add("down_proj", {x, b.Weight("mlp.down_proj.weight", {64, 64})}, {y});
  if (reduce) {
    const auto all = b.New({64});
    b.Add("all_reduce", {y}, {all});
    y = all;
  }
  if (scaled) {
    const auto times = b.New({64});
    b.Add("mul", {y}, {times}, {{"scalar", 0.22}});
    y = times;
  }
  const auto sum = b.New({64});
  b.Add("add", {residual, y}, {sum});
  const auto normed = b.New({64});
  b.Add("rms_norm", {sum, b.Weight("norm.weight", {64})}, {normed}, {{"eps", 1e-5}});
  const auto out = b.New({64});
  b.Add("add", {sum, normed}, {out});
  Model model;
  model.platform = "cpu";
  model.tp = reduce ? 2 : 1;
  model.tokens = {1, 4096};
  model.layers = {b.Build(0, {0}, false)};
  return model;
}

TEST(Match, AReduceBetweenProductAndAddBlocksTheEpilogue) {
  const Model plain = PostNormModel(false, false);
  const Found found(plain);
  ASSERT_THAT(found.Of("M9"), SizeIs(1));
  EXPECT_EQ(Violation("no_collective", *found.Of("M9")[0], plain), std::nullopt);
  const Model reduced = PostNormModel(true, false);
  const Found blocked(reduced);
  ASSERT_THAT(blocked.Of("M9"), SizeIs(1));
  EXPECT_THAT(Violation("no_collective", *blocked.Of("M9")[0], reduced).value_or(""),
              HasSubstr("all_reduce"));
}

TEST(Match, AScaledResidualAddAndItsNormAreOneChain) {
  const Found found(PostNormModel(false, true));
  const auto matches = found.Of("V2");
  ASSERT_FALSE(matches.empty());
  EXPECT_THAT(Names(*matches[0]), ElementsAre("mul", "add", "rms_norm"));
  EXPECT_THAT(found.Of("V1"), IsEmpty());
}

TEST(Traffic, TheFusedKernelKeepsIntermediateValuesOnChip) {
  const Model model = QwenModel({});
  const Found found(model);
  const auto traffic = CountTraffic(*found.Of("A1")[0], 4096);
  ASSERT_TRUE(traffic.has_value());
  EXPECT_EQ(traffic->before.launches, 3);
  EXPECT_EQ(traffic->after.launches, 1);
  const int64_t qk = 4096LL * (16 + 4) * 128 * 2;
  // Norm and rotation each read and write q and k; fused, both are read and written once.
  EXPECT_EQ(traffic->before.bytes() - traffic->after.bytes(), 2 * qk);
}

}  // namespace
}  // namespace tenon::fuse
