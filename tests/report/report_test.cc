#include "report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "golden.h"
#include "report/fixture.h"
#include "report/words.h"

namespace tenon::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string ReadError(const std::string& text) {
  try {
    ReadReport(text, "report.json");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "read without error";
}

// The text with its first occurrence of `from` replaced.
std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Report, Golden) {
  const Report report = TinyReport();
  ExpectGolden("report/golden/tiny.json", ToJson(report));
  ExpectGolden("report/golden/tiny.md", ToMarkdown(report));
  ExpectGolden("report/golden/tiny.html", ToHtml(report));
  ExpectGolden("report/golden/tiny.github", ToGithub(report));
}

TEST(Report, JsonIsReadBackWhole) {
  const Report report = TinyReport();
  Report read = ReadReport(ToJson(report), "report.json");
  EXPECT_EQ(ToJson(read), ToJson(report));
  EXPECT_EQ(ToMarkdown(read), ToMarkdown(report));
  // The root of the sources is of this machine and stays out of the JSON; with it the page is
  // whole.
  read.analysis.source_root = report.analysis.source_root;
  EXPECT_EQ(ToHtml(read), ToHtml(report));
}

TEST(Report, ByteCountsAreNumbersForTheLargestTokenCount) {
  const std::string json = ToJson(TinyReport());
  EXPECT_THAT(json, HasSubstr("\"bytes_read\": 4194816"));  // 2 * 256 * 2 * 4096 + 256 * 2
  EXPECT_THAT(json, HasSubstr("\"bytes_read\": null"));
}

TEST(Report, EmptySectionsSayNone) {
  Report report;
  report.analysis.model.architecture = "NothingForCausalLM";
  const std::string markdown = ToMarkdown(report);
  for (const char* section :
       {"### 2. Operator sequence", "### 3. Fusion opportunities", "### 4. Opportunity details",
        "### 5. Already fused", "### 6. Not proposed", "### 7. Assumptions and unknowns"}) {
    EXPECT_THAT(markdown, HasSubstr(std::string(section) + "\n\nnone\n"));
  }
  EXPECT_EQ(ToGithub(report), "");
}

TEST(Report, ReadingSaysWhatIsWrong) {
  const std::string json = ToJson(TinyReport());
  EXPECT_EQ(ReadError("{\n \"schema\": tenon\n}"), "report.json is not JSON: line 2, column 13");
  EXPECT_EQ(ReadError("[]"), "report.json: must be an object, got array");
  EXPECT_EQ(ReadError("{}"), "report.json: has no key 'schema'");
  EXPECT_EQ(ReadError(Replaced(json, "tenon.analysis/1", "tenon.analysis/9")),
            "a report must have the schema tenon.analysis/1, got tenon.analysis/9");
  EXPECT_EQ(ReadError(Replaced(json, "\"tp\": 2", "\"tp\": \"two\"")),
            "report.json: environment.tp must be an integer, got \"two\"");
  EXPECT_EQ(ReadError(Replaced(json, "[\"T\", 256]", "[\"T\", 2.5]")),
            "report.json: variants[0].ops[0].in[0].shape[1] must be an integer or an expression of "
            "sizes, got 2.5");
}

TEST(Report, PageEscapesWhatItQuotes) {
  Report report = TinyReport();
  report.findings.opportunities[0].title = "a<script>b & c";
  const std::string page = ToHtml(report);
  EXPECT_THAT(page, HasSubstr("a&lt;script&gt;b &amp; c"));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("http")));  // nothing is loaded from elsewhere
}

TEST(Report, AnnotationsEscapeTheirSeparators) {
  Report report = TinyReport();
  report.findings.opportunities[0].title = "50%\nof it";
  EXPECT_THAT(ToGithub(report), HasSubstr("50%25%0Aof it"));
}

TEST(Report, OpportunityOutsideTheReportIsRefused) {
  Report report = TinyReport();
  report.findings.opportunities[0].ops = {99};
  EXPECT_THROW(ToMarkdown(report), UsageError);
}

TEST(Words, Layers) {
  EXPECT_EQ(LayersText({}), "none");
  EXPECT_EQ(LayersText({3}), "3");
  EXPECT_EQ(LayersText({0, 1, 2, 5, 7, 8}), "0-2, 5, 7-8");
}

TEST(Words, Amounts) {
  EXPECT_EQ(BytesText(1023), "1023 B");
  EXPECT_EQ(BytesText(1536), "1.5 KiB");
  EXPECT_EQ(BytesText(-3 * 1024 * 1024), "-3 MiB");
  EXPECT_EQ(TimeText(12.3456), "12.3 us");
  EXPECT_EQ(TimeText(1234), "1.23 ms");
}

}  // namespace
}  // namespace tenon::report
