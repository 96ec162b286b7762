// The decoder families of a real vLLM tree: locations and sequences are exact. Without a tree
// (TENON_VLLM_PATH, or one that the analyser finds) the tests are skipped.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "golden.h"

namespace tenon::analyze {
namespace {

std::optional<Analysis> Analysed(const std::string& target) {
  AnalyzeOptions options;
  options.target = target;
  try {
    return Analyze(options);
  } catch (const ResolutionError& error) {
    if (error.code() == "E5") return std::nullopt;
    throw;
  }
}

std::string Summary(const Analysis& analysis) {
  std::string text;
  const auto place = [&](const char* what, const Location& location) {
    text += fmt::format("{} {} {}:{}\n", what, location.cls, location.file, location.line);
  };
  place("main", analysis.locations.main.location);
  for (const auto& one : analysis.locations.decoder_layers) place("layer", one.location);
  for (const auto& one : analysis.locations.attention) place("attention", one.location);
  for (const auto& one : analysis.locations.mlp) place("mlp", one.location);
  for (const Variant& variant : analysis.variants) {
    text += fmt::format("variant {} x{}\n", variant.layer_class, variant.layers.size());
    for (const Op& op : variant.ops) {
      text += fmt::format("  {}{}", op.op, op.aux ? " (aux)" : "");
      for (const TensorUse& use : op.out) {
        text += fmt::format(" {}({})", DimsText(use.shape), fmt::join(use.axes, ","));
      }
      text += fmt::format(" line {}\n", op.line);
    }
  }
  return text;
}

class Decoder : public testing::TestWithParam<const char*> {};

TEST_P(Decoder, IsUnderstoodWhole) {
  const std::optional<Analysis> analysis = Analysed(GetParam());
  if (!analysis) GTEST_SKIP() << "no vLLM tree";
  EXPECT_EQ(analysis->stats.opaque, 0);
  EXPECT_EQ(analysis->stats.assumptions, 0);
  EXPECT_FALSE(analysis->HasErrors());
  if (analysis->environment.vllm_version != "0.33.0") return;
  ExpectGolden(fmt::format("analyze/vllm-0.33.0/{}.txt", GetParam()), Summary(*analysis));
}

INSTANTIATE_TEST_SUITE_P(Vllm, Decoder,
                         testing::Values("LlamaForCausalLM", "MistralForCausalLM",
                                         "Qwen2ForCausalLM", "Qwen3ForCausalLM", "Phi3ForCausalLM",
                                         "GemmaForCausalLM", "Gemma2ForCausalLM",
                                         "Gemma3ForCausalLM", "GraniteForCausalLM",
                                         "Glm4ForCausalLM", "Exaone4ForCausalLM",
                                         "CohereForCausalLM", "Qwen3MoeForCausalLM",
                                         "Glm4MoeForCausalLM"),
                         [](const auto& test) { return std::string(test.param); });

// What an operator reads was defined before, or comes into the layer.
TEST_P(Decoder, DataFlowsForward) {
  const std::optional<Analysis> analysis = Analysed(GetParam());
  if (!analysis) GTEST_SKIP() << "no vLLM tree";
  for (const Variant& variant : analysis->variants) {
    std::vector<int> later;
    for (const Op& op : variant.ops) {
      for (const TensorUse& use : op.out) later.push_back(use.id);
    }
    for (const Op& op : variant.ops) {
      for (const TensorUse& use : op.in) {
        EXPECT_EQ(std::count(later.begin(), later.end(), use.id), 0) << OpText(op);
      }
      for (const TensorUse& use : op.out) std::erase(later, use.id);
      EXPECT_EQ(op.op == "split" && op.bytes_read != Dim(0), false);
      EXPECT_GT(op.line, 0);
    }
  }
}

TEST(Vllm, NameEndsAtTheMixtureModelWithItsEvidence) {
  const std::optional<Analysis> analysis = Analysed("GLM-4.7");
  if (!analysis) GTEST_SKIP() << "no vLLM tree";
  EXPECT_EQ(analysis->model.architecture, "Glm4MoeForCausalLM");
  EXPECT_TRUE(analysis->locations.main.location.file.ends_with("/glm4_moe.py"));
  ASSERT_FALSE(analysis->input.evidence.empty());
  ASSERT_EQ(analysis->input.rejected.size(), 1u);
  EXPECT_EQ(analysis->input.rejected[0].candidate, "Glm4ForCausalLM");
  EXPECT_EQ(analysis->input.rejected[0].reason, "only its file name glm4.py resembles 'GLM-4.7'");
}

}  // namespace
}  // namespace tenon::analyze
