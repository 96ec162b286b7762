#include "fuse/compose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "emit/plan.h"
#include "fuse/body.h"
#include "fuse/describe.h"
#include "golden.h"
#include "ir/parser.h"
#include "ir/printer.h"
#include "layer_builder.h"

namespace tenon::fuse {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Match& Only(const MatchResult& result, std::string_view scene) {
  const Match* found = nullptr;
  for (const Match& match : result.matches) {
    if (match.scene->id == scene && found == nullptr) found = &match;
  }
  EXPECT_NE(found, nullptr) << scene;
  return *found;
}

TEST(Compose, SplitNormRopeIsGolden) {
  const Model model = QwenModel({});
  const Sequence sequence(model.layers[0]);
  const MatchResult result = MatchLayer(sequence, &sequence, model);
  const Match& match = Only(result, "A1");
  ir::Graph body = ComposeMatch(match, model);
  ExpectGolden("fuse/golden/split_qkv_rmsnorm_rope.ir", ir::PrintGraph(body));
  EXPECT_EQ(ir::PrintGraph(ir::ParseGraph(ir::PrintGraph(body))), ir::PrintGraph(body));
  ExpectGolden("fuse/golden/split_qkv_rmsnorm_rope.interface",
               InterfaceText(match, &body, model) + "\n");

  const auto views = TakeViewOutputs(body);
  ASSERT_EQ(views.size(), 1u);
  EXPECT_EQ(views[0].name, "v");
  EXPECT_EQ(views[0].input, "qkv");
  EXPECT_EQ(views[0].offset, (16 + 4) * 128);
  EXPECT_EQ(views[0].size, 4 * 128);
  const ir::Graph flat = InlineCalls(body);
  ExpectGolden("fuse/golden/split_qkv_rmsnorm_rope.plan",
               emit::PlanText(flat, emit::MakeRowPlan(flat)));
  std::vector<std::string> steps;
  for (const ChainStep& step : UnfusedChain(body)) steps.push_back(step.name);
  EXPECT_THAT(steps, ElementsAre("rms_norm", "rms_norm", "rotary_embedding"));
}

TEST(Compose, AnOperatorWithoutABodyIsNamedWithItsPlace) {
  LayerBuilder b("Layer");
  const auto x = b.New({64});
  const auto y = b.New({64});
  b.Add("attention", {x}, {y});
  const Layer layer = b.Build(0, {0}, false);
  ComposeRequest request;
  request.name = "chain";
  const Sequence sequence(layer);
  request.parts = {{&layer.graph, {sequence.step(0).call}, -1}};
  try {
    Compose(request);
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), HasSubstr("attention (vllm/model_executor/models/tiny.py:100)"));
  }
}

}  // namespace
}  // namespace tenon::fuse
