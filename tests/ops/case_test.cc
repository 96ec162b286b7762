#include "ops/case.h"

#include <gmock/gmock.h>

#include "base/dtype.h"
#include "base/error.h"
#include "ops/arena.h"
#include "ops/kernel_testing.h"

namespace tenon::ops {
namespace {

TEST(Case, ReadsALine) {
  const CaseSpec spec =
      ParseCase(" rms_norm_dynamic_per_token_quant hidden=64 eps=1e-05 dtype=i8 +weight ");
  EXPECT_EQ(spec.op, "rms_norm_dynamic_per_token_quant");
  EXPECT_EQ(spec.sizes.at("hidden"), 64);
  EXPECT_EQ(std::get<double>(spec.attributes.at("eps")), 1e-5);
  EXPECT_EQ(spec.given, std::set<std::string>{"weight"});
  EXPECT_EQ(
      CaseText(spec),
      "rms_norm_dynamic_per_token_quant hidden=64 dtype=i8 eps=1e-05 +weight [] f32 f32 dense");
}

std::string Refusal(std::string_view line) {
  try {
    ParseCase(line);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Case, RefusesLinesThatMakeNoSense) {
  EXPECT_EQ(Refusal("rms_norm hidden"),
            "case 'rms_norm hidden': 'hidden' is neither name=value nor +tensor");
  EXPECT_EQ(Refusal("rms_norm hidden=x"),
            "case 'rms_norm hidden=x': the value of hidden is not a number");
  EXPECT_EQ(Refusal("rms_norm +x"), "case 'rms_norm +x': rms_norm has no optional tensor x");
  EXPECT_EQ(Refusal(""), "a case begins with the name of an operator");
  EXPECT_THROW(Case{ParseCase("rms_norm")}, UsageError) << "no size";
}

TEST(Case, EveryModelLineIsACase) {
  size_t lines = 0;
  for (const std::string& form : OperatorNames()) {
    for (CaseSpec spec : ModelCases(form)) {
      spec.lead = {1};
      SCOPED_TRACE(CaseText(spec));
      EXPECT_NO_THROW(Case{spec});
      ++lines;
    }
  }
  EXPECT_GE(lines, 3 * 18u);
}

TEST(Case, ValuesDoNotDependOnLayoutOrRows) {
  CaseSpec spec = ParseCase("rms_norm hidden=9");
  spec.lead = {2, 3};
  const std::vector<uint8_t> dense = BitsOf(Case(spec).call().inputs[0].tensor);
  for (Layout layout : {Layout::kMisaligned, Layout::kRowGaps, Layout::kLastStride}) {
    spec.layout = layout;
    EXPECT_EQ(BitsOf(Case(spec).call().inputs[0].tensor), dense) << LayoutName(layout);
  }
}

TEST(Case, SeesWritesOutside) {
  CaseSpec spec = ParseCase("rms_norm hidden=9");
  spec.lead = {2};
  spec.layout = Layout::kRowGaps;
  Case test(spec);
  EXPECT_TRUE(test.GuardsIntact());
  test.results()[0].ptr<float>()[9] = 0;  // the gap behind the first row
  EXPECT_FALSE(test.GuardsIntact());
  test.FillTensors();
  EXPECT_TRUE(test.GuardsIntact());
  test.results()[0].ptr<float>()[-1] = 0;
  EXPECT_FALSE(test.GuardsIntact());
}

TEST(Case, BytesMoved) {
  CaseSpec spec = ParseCase("fused_add_rms_norm hidden=64 +weight");
  spec.lead = {10};
  spec.storage = DType::kBF16;
  EXPECT_EQ(Case(spec).BytesMoved(), 4 * 10 * 64 * 2 + 64 * 4);
  spec = ParseCase("rotary_embedding_ heads=2 head_size=8 half=4 rows=100");
  spec.lead = {3};
  EXPECT_EQ(Case(spec).BytesMoved(), 2 * 3 * 16 * 4 + 3 * 8 + 3 * 8 * 4);
}

}  // namespace
}  // namespace tenon::ops
