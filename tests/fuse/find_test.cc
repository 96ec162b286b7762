#include "fuse/find.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "layer_builder.h"

namespace tenon::fuse {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const backend::DeviceProfile& H200() {
  static const backend::DeviceProfile profile = backend::FindProfile("h200");
  return profile;
}

// The first opportunity of a scene that occurs.
const Opportunity* Of(const Findings& findings, std::string_view scene) {
  for (const Opportunity& o : findings.opportunities) {
    if (o.scene == scene && o.status != "absent") return &o;
  }
  return nullptr;
}

TEST(Find, OnCudaThePassIsOptInAndNamesItsFlag) {
  const Findings findings = FindFusions(QwenModel({}), H200());
  const Opportunity* a1 = Of(findings, "A1");
  ASSERT_NE(a1, nullptr);
  EXPECT_EQ(a1->status, "optin");
  EXPECT_THAT(a1->flag.value_or(""), HasSubstr("enable_qk_norm_rope_fusion"));
  EXPECT_THAT(a1->ops, ElementsAre(2, 3, 4));
  EXPECT_THAT(a1->interface.value_or(""), HasSubstr("def split_qkv_rmsnorm_rope("));
  EXPECT_THAT(a1->interface.value_or(""), HasSubstr("qkv [T, 3072] bfloat16"));
  EXPECT_TRUE(a1->ir.has_value());
  EXPECT_THAT(a1->subsumes, ElementsAre("N2"));
  ASSERT_EQ(a1->files.size(), 1u);
  EXPECT_THAT(a1->files[0].lines, ElementsAre(102, 103, 104));
  ASSERT_EQ(a1->benefit.per_tokens.size(), 2u);
  EXPECT_TRUE(a1->benefit.per_tokens[1].gain);
  EXPECT_EQ(a1->id, 1) << "the largest gain comes first";
}

TEST(Find, WhereNoKernelAppliesTheSceneIsOpenWithTheReason) {
  const Findings odd = FindFusions(QwenModel({.head_dim = 96}), H200());
  ASSERT_NE(Of(odd, "A1"), nullptr);
  EXPECT_EQ(Of(odd, "A1")->status, "open");
  EXPECT_THAT(Of(odd, "A1")->reason.value_or(""), HasSubstr("head_dim is 96"));
  const Findings cpu = FindFusions(QwenModel({}, "cpu"), H200());
  EXPECT_EQ(Of(cpu, "A1")->status, "open");
  const Findings ascend = FindFusions(QwenModel({}, "ascend"), H200());
  EXPECT_EQ(Of(ascend, "A1")->status, "fused");
}

TEST(Find, AReduceAndItsNormAreFusedOnCudaBelowTheSizeLimit) {
  const Findings two = FindFusions(QwenModel({.tp = 2}), H200());
  EXPECT_EQ(Of(two, "N5")->status, "fused");
  const Findings cpu = FindFusions(QwenModel({.tp = 2}, "cpu"), H200());
  EXPECT_EQ(Of(cpu, "N5")->status, "open");
  const Findings one = FindFusions(QwenModel({.tp = 1}), H200());
  EXPECT_EQ(Of(one, "N5"), nullptr);
}

TEST(Find, ARankWideStatisticIsBlockedWithTheReason) {
  const Findings findings = FindFusions(QwenModel({.full_width_norm = true}), H200());
  const Opportunity* a1 = Of(findings, "A1");
  ASSERT_NE(a1, nullptr);
  EXPECT_EQ(a1->status, "blocked");
  EXPECT_THAT(a1->reason.value_or(""), HasSubstr("2 ranks"));
  EXPECT_THAT(a1->interface.value_or(""), HasSubstr("def split_qkv_tp_rmsnorm_rope("));
}

TEST(Find, EverySceneHasAStatusAndProposalsHaveAnInterfaceAndABound) {
  const Findings findings = FindFusions(QwenModel({}), H200());
  std::set<std::string> scenes;
  std::map<std::vector<int>, std::set<std::string>> statuses;
  int id = 0;
  for (const Opportunity& o : findings.opportunities) {
    EXPECT_EQ(o.id, ++id);
    scenes.insert(o.scene);
    scenes.insert(o.subsumes.begin(), o.subsumes.end());
    if (o.status == "open" || o.status == "optin") {
      EXPECT_TRUE(o.interface.has_value()) << o.scene;
      EXPECT_TRUE(o.priority.has_value()) << o.scene;
      EXPECT_EQ(o.benefit.per_tokens.size(), 2u) << o.scene;
      EXPECT_FALSE(o.benefit.condition.empty()) << o.scene;
    }
    EXPECT_TRUE(o.reason || (o.status != "no_gain" && o.status != "blocked")) << o.scene;
  }
  for (const char* scene : {"N1",  "N3", "N4", "N6", "V1", "V2", "C1", "C2", "C3", "A1",
                            "A1b", "M2", "M3", "M4", "M5", "M6", "M9", "E1", "E2", "E4"}) {
    EXPECT_TRUE(scenes.contains(scene)) << scene;
  }
}

TEST(Find, AKernelOfTheSourceThatCoversAChainIsReportedAsFused) {
  LayerBuilder b("Layer");
  const auto qkv = b.New({96});
  const auto q = b.New({64});
  b.Add("fused_kernel", {qkv}, {q},
        {{"kernel", "fused_qk_rmsnorm_rope_gate"},
         {"covers", analyze::Attr::List{"split", "qk_norm", "rotary_embedding"}}});
  Model model = QwenModel({});
  model.layers = {b.Build(0, {0}, true)};
  const Findings findings = FindFusions(model, H200());
  ASSERT_NE(Of(findings, "A1"), nullptr);
  EXPECT_EQ(Of(findings, "A1")->status, "fused");
  EXPECT_EQ(Of(findings, "A1")->by, "fused_qk_rmsnorm_rope_gate");
}

}  // namespace
}  // namespace tenon::fuse
