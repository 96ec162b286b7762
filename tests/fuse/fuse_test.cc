#include "fuse/fuse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/files.h"
#include "fuse/compile.h"
#include "fuse/describe.h"
#include "ir/printer.h"
#include "layer_builder.h"

namespace tenon::fuse {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A fresh cache and output folder per test.
class Fuse : public ::testing::Test {
 protected:
  Fuse() {
    setenv("TENON_CACHE_DIR", (folder_.path() / "cache").c_str(), 1);
    options_.output = folder_.path() / "out";
    options_.tokens = {1, 64};
    options_.repeats = 3;
  }
  ~Fuse() override {
    unsetenv("TENON_CACHE_DIR");
    unsetenv("TENON_CXX");
  }

  static Findings WithBody(std::string ir) {
    Findings findings;
    Opportunity& o = findings.opportunities.emplace_back();
    o.id = 1;
    o.scene = "A1";
    o.type = "Attention";
    o.title = "QKV split + QK norm + RoPE";
    o.status = "open";
    if (!ir.empty()) o.ir = std::move(ir);
    return findings;
  }

  TempDir folder_;
  FuseOptions options_;
};

std::string QwenBody(const QwenOptions& options) {
  const Model model = QwenModel(options);
  const Sequence sequence(model.layers[0]);
  const MatchResult result = MatchLayer(sequence, &sequence, model);
  for (const Match& match : result.matches) {
    if (match.scene->id == "A1") return ir::PrintGraph(ComposeMatch(match, model));
  }
  return "";
}

std::string Sentence(const std::function<void()>& call) {
  try {
    call();
  } catch (const UsageError& e) {
    return e.what();
  }
  return "no error";
}

TEST_F(Fuse, SplitNormRopeIsCheckedTimedAndWritten) {
  const Findings findings =
      WithBody(QwenBody({.hidden = 512, .heads = 8, .kv_heads = 2, .head_dim = 64}));
  const FuseResult result = FuseOpportunity(findings, 1, DType::kBF16, options_);
  EXPECT_TRUE(result.check.passed()) << result.check.Sentence();
  EXPECT_THAT(result.chain, ElementsAre("rms_norm", "rms_norm", "rotary_embedding"));
  ASSERT_EQ(result.status, FuseStatus::kFused) << result.sentence;
  for (const char* file : {"split_qkv_rmsnorm_rope.cc", "kernel.so", "plan.txt", "graph.ir",
                           "check.json", "timing.json", "interface.py"}) {
    EXPECT_TRUE(std::filesystem::exists(result.artefact / file)) << file;
  }
  EXPECT_THAT(ResultJson(result), HasSubstr("\"status\": \"fused\""));
}

TEST_F(Fuse, NumbersOutOfRangeSayTheRange) {
  const Findings findings = WithBody("graph x {}");
  EXPECT_EQ(Sentence([&] { FuseOpportunity(findings, 7, DType::kBF16, options_); }),
            "fuse: opportunity must be between 1 and 1, got 7");
  EXPECT_EQ(Sentence([&] { FuseOpportunity({}, 1, DType::kBF16, options_); }),
            "fuse: the report lists no opportunities");
}

TEST_F(Fuse, WhatCannotBeGeneratedSaysWhy) {
  Findings findings = WithBody("");
  findings.opportunities[0].scene = "M5";
  findings.opportunities[0].type = "MatMul";
  EXPECT_THAT(Sentence([&] { FuseOpportunity(findings, 1, DType::kBF16, options_); }),
              HasSubstr("only row-wise chains are generated, M5 is of type MatMul"));
}

TEST_F(Fuse, AnUnwritableFolderIsSaidBeforeAnythingIsCompiled) {
  WriteFile(folder_.path() / "file", "");
  options_.output = folder_.path() / "file" / "out";
  const Findings findings = WithBody(QwenBody({}));
  EXPECT_THAT(Sentence([&] { FuseOpportunity(findings, 1, DType::kBF16, options_); }),
              HasSubstr("cannot be written"));
}

TEST_F(Fuse, WithoutACompilerTheSentenceSaysWhatToInstall) {
  setenv("TENON_CXX", "/nowhere/c++", 1);
  EXPECT_THAT(Sentence([] { FindHostCompiler(); }), HasSubstr("TENON_CXX names /nowhere/c++"));
  unsetenv("TENON_CXX");
  const std::string path = getenv("PATH");
  setenv("PATH", "/nowhere", 1);
  const std::string sentence = Sentence([] { FindHostCompiler(); });
  setenv("PATH", path.c_str(), 1);
  EXPECT_THAT(sentence, HasSubstr("install g++"));
}

TEST_F(Fuse, ADamagedCacheEntryIsRebuiltWithOneWarning) {
  const std::string text =
      "#include \"backend/cpu/row_kernel.h\"\n"
      "static const tenon::cpu::RowKernel kernel{};\n"
      "extern \"C\" __attribute__((visibility(\"default\"))) const tenon::cpu::RowKernel*\n"
      "tenon_row_kernel() { return &kernel; }\n";
  std::filesystem::path so;
  {
    const auto library = CompileKernel(text, cpu::ChosenTarget());
    so = library->path();
  }
  std::ofstream(so, std::ios::trunc) << "garbage";
  ::testing::internal::CaptureStderr();
  const auto rebuilt = CompileKernel(text, cpu::ChosenTarget());
  const std::string warning = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(warning, HasSubstr("is damaged; rebuilding it"));
  EXPECT_EQ(std::count(warning.begin(), warning.end(), '\n'), 1);
  ::testing::internal::CaptureStderr();
  CompileKernel(text, cpu::ChosenTarget());
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace tenon::fuse
