#include "report/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "report/fixture.h"

namespace tenon::report {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Compare, ExpectationsThatHold) {
  EXPECT_THAT(UnmetExpectations(TinyReport(), "# fusions\nA1 open\n\nV2  fused  # kept\n", "e"),
              IsEmpty());
}

TEST(Compare, LostFusionIsNamed) {
  EXPECT_THAT(UnmetExpectations(TinyReport(), "A1 fused\nN5 optin", "e.txt"),
              ElementsAre("e.txt:1: expected A1 fused, the report has open",
                          "e.txt:2: expected N5 optin, the report has no N5"));
}

TEST(Compare, LineThatIsNoExpectation) {
  for (const char* line : {"A1", "A1 done", "A1 fused now"}) {
    EXPECT_THROW(UnmetExpectations(TinyReport(), line, "e.txt"), UsageError) << line;
  }
}

TEST(Compare, SameReportHasNoDifferences) {
  Report moved = TinyReport();
  moved.analysis.variants[0].ops[1].line += 5;
  EXPECT_THAT(Differences(TinyReport(), moved), IsEmpty());
}

TEST(Compare, DifferencesOfOperatorsAndStatus) {
  Report now = TinyReport();
  now.findings.opportunities[0].status = "fused";
  now.analysis.variants[0].ops[6].op = "reduce_scatter";
  now.findings.opportunities[2].ops = {5};
  EXPECT_THAT(Differences(TinyReport(), now),
              ElementsAre("- TinyDecoderLayer (layers 0-2, 5): all_reduce",
                          "- A1 qk_norm → rotary_embedding (variant 0): open",
                          "- M9 o_proj → all_reduce (variant 0): blocked",
                          "+ TinyDecoderLayer (layers 0-2, 5): reduce_scatter",
                          "+ A1 qk_norm → rotary_embedding (variant 0): fused",
                          "+ M9 o_proj (variant 0): blocked"));
}

}  // namespace
}  // namespace tenon::report
