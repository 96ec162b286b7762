// Every idiom of the miniature tree, compared with the JSON beside it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analyze/analyze.h"
#include "analyze/lower.h"
#include "golden.h"
#include "ir/printer.h"

namespace tenon::analyze {
namespace {

using Json = nlohmann::ordered_json;

std::string Where(const Location& location) {
  return fmt::format("{} {}:{}", location.cls, location.file, location.line);
}

Json Layers(const std::vector<LayerLocation>& list) {
  Json json = Json::array();
  for (const LayerLocation& one : list) {
    json.push_back(
        fmt::format("{} [{}] {}", Where(one.location), fmt::join(one.layers, ","), one.kind));
  }
  return json;
}

Json Lines(const std::vector<Op>& ops) {
  Json json = Json::array();
  for (const Op& op : ops) json.push_back(OpText(op));
  return json;
}

std::string Text(const Analysis& analysis) {
  Json json;
  json["main"] = Where(analysis.locations.main.location);
  if (analysis.locations.main.implementation) {
    json["implementation"] = Where(*analysis.locations.main.implementation);
  }
  json["decoder_layers"] = Layers(analysis.locations.decoder_layers);
  json["attention"] = Layers(analysis.locations.attention);
  json["mlp"] = Layers(analysis.locations.mlp);
  json["variants"] = Json::array();
  for (const Variant& variant : analysis.variants) {
    Json one;
    one["class"] = variant.layer_class;
    one["layers"] = fmt::format("{}", fmt::join(variant.layers, ","));
    if (variant.first_layer) {
      one["first"] =
          fmt::format("layer {}: {}", variant.first_layer->layer, variant.first_layer->differs);
    }
    one["ops"] = Lines(variant.ops);
    json["variants"].push_back(one);
  }
  json["outside"] = Lines(analysis.outside_layers);
  json["assumptions"] = Json::array();
  for (const Assumption& a : analysis.assumptions) {
    json["assumptions"].push_back(
        fmt::format("{}:{}: {} -> {}, {}", a.file, a.line, a.condition, a.taken, a.why));
  }
  json["diagnostics"] = Json::array();
  for (const Diagnostic& d : analysis.diagnostics) {
    json["diagnostics"].push_back(fmt::format("{} {} {}", d.severity, d.code, d.message));
  }
  return json.dump(1) + "\n";
}

class Fixture : public testing::TestWithParam<const char*> {};

TEST_P(Fixture, GivesTheExpectedAnalysis) {
  const std::string folder = std::string(TENON_SOURCE_DIR) + "/tests/analyze/fixtures";
  AnalyzeOptions options;
  options.target = fmt::format("{}ForCausalLM", GetParam());
  options.vllm_path = folder;
  options.config_file = folder + "/config.json";
  const Analysis analysis = Analyze(options);
  ExpectGolden(fmt::format("analyze/fixtures/{}.json", GetParam()), Text(analysis));
  for (const Variant& variant : analysis.variants) {
    EXPECT_NO_THROW(ir::PrintGraph(LowerVariant(variant)));
  }
  EXPECT_NO_THROW(LowerOps("outside", analysis.outside_layers));
}

INSTANTIATE_TEST_SUITE_P(Analyze, Fixture,
                         testing::Values("Alias", "Branch", "Broken", "Closure", "Deep", "Dispatch",
                                         "Expression", "Inherit", "Kernel", "Lazy", "Opaque",
                                         "Plain", "Raises", "Single", "Wrapper", "Written"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Wrapper, NamesTheModelInside) {
  AnalyzeOptions options;
  options.target = "WrapperForCausalLM";
  options.vllm_path = std::string(TENON_SOURCE_DIR) + "/tests/analyze/fixtures";
  options.config_file = options.vllm_path + "/config.json";
  EXPECT_THAT(Analyze(options).model.delegates, testing::ElementsAre("PlainForCausalLM"));
}

const ConfigEntry* FindEntry(const Analysis& analysis, const std::string& key) {
  for (const ConfigEntry& entry : analysis.model.config) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

TEST(ClassValues, DescribeAModelThatNobodyConfigured) {
  AnalyzeOptions options;
  options.target = "PlainForCausalLM";
  options.vllm_path = std::string(TENON_SOURCE_DIR) + "/tests/analyze/fixtures";
  const Analysis analysis = Analyze(options);
  EXPECT_EQ(analysis.stats.opaque, 0);
  EXPECT_EQ(analysis.stats.assumptions, 0);
  ASSERT_EQ(analysis.variants.size(), 1u);
  EXPECT_EQ(analysis.variants[0].layers.size(), 2u);
  const ConfigEntry* head_dim = FindEntry(analysis, "head_dim");
  ASSERT_NE(head_dim, nullptr);
  EXPECT_EQ(std::get<int64_t>(head_dim->value.value), 8);
  EXPECT_EQ(head_dim->origin, "class");
  EXPECT_EQ(head_dim->source, "transformers/models/plain/configuration_plain.py");
  const ConfigEntry* eps = FindEntry(analysis, "rms_norm_eps");
  ASSERT_NE(eps, nullptr);
  EXPECT_EQ(std::get<double>(eps->value.value), 1e-5);
}

TEST(ClassValues, GiveWayToThoseOfTheCommandLine) {
  AnalyzeOptions options;
  options.target = "PlainForCausalLM";
  options.vllm_path = std::string(TENON_SOURCE_DIR) + "/tests/analyze/fixtures";
  options.sets = {"num_layers=5", "hidden_size=64"};
  const Analysis analysis = Analyze(options);
  ASSERT_EQ(analysis.variants.size(), 1u);
  EXPECT_EQ(analysis.variants[0].layers.size(), 5u);
  EXPECT_EQ(std::get<int64_t>(FindEntry(analysis, "head_dim")->value.value), 16);
}

TEST(ClassValues, NeedTheirPackage) {
  AnalyzeOptions options;
  options.target = "PlainForCausalLM";
  options.vllm_path = std::string(TENON_SOURCE_DIR) + "/tests/analyze/fixtures";
  options.transformers_path = options.vllm_path + "/vllm";
  EXPECT_THAT([&] { Analyze(options); },
              testing::ThrowsMessage<UsageError>(testing::HasSubstr(
                  "/vllm holds no transformers/configuration_utils.py; give --transformers")));
}

TEST(Functions, AreLoweredWithTheirViews) {
  const std::string file = std::string(TENON_SOURCE_DIR) + "/tests/analyze/fixtures/functions.py";
  std::string text;
  for (const char* name : {"silu_and_mul", "rms_norm", "rotate", "gather_rows"}) {
    const FunctionTrace trace = TraceFunction(file, name);
    EXPECT_NO_THROW(LowerFunction(trace)) << name;
    text += fmt::format("{} line {} {}\n", trace.name, trace.line, trace.doc);
    for (const FunctionArgument& a : trace.arguments) {
      text += a.tensor ? fmt::format("  {} %{} {}{}\n", a.name, a.tensor->id, a.tensor->dtype,
                                     DimsText(a.tensor->shape))
                       : fmt::format("  {} {}{}\n", a.name, a.scalar_type,
                                     a.default_value ? " with a default" : "");
    }
    for (Op op : trace.ops) {
      op.file = "functions.py";
      text += "  " + OpText(op) + "\n";
    }
    for (const TensorUse& result : trace.results) text += fmt::format("  -> %{}\n", result.id);
  }
  ExpectGolden("analyze/fixtures/functions.txt", text);
}

}  // namespace
}  // namespace tenon::analyze
