// The exact sentences of everything that cannot be resolved or lowered.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "analyze/analyze.h"
#include "base/files.h"

namespace tenon::analyze {
namespace {

namespace fs = std::filesystem;

std::string Folder() { return std::string(TENON_SOURCE_DIR) + "/tests/analyze/fixtures"; }

// "E1 sentence", with the fixture folder shortened to <fixtures>.
std::string Refusal(const std::string& target, const std::string& vllm = Folder(),
                    const std::string& config = "") {
  AnalyzeOptions options;
  options.target = target;
  options.vllm_path = vllm;
  options.config_file = config;
  std::string text = "accepted";
  try {
    Analyze(options);
  } catch (const ResolutionError& error) {
    text = error.code() + " " + error.what();
  }
  for (size_t at = text.find(Folder()); at != std::string::npos; at = text.find(Folder())) {
    text.replace(at, Folder().size(), "<fixtures>");
  }
  return text;
}

TEST(Errors, UnknownArchitectureNamesTheNearest) {
  EXPECT_EQ(Refusal("PlaineForCausalLM"),
            "E1 unknown architecture 'PlaineForCausalLM'; nearest: PlainForCausalLM "
            "(vllm/model_executor/models/plain.py)");
  EXPECT_EQ(Refusal("SomethingElseModel"), "E1 unknown architecture 'SomethingElseModel'");
}

TEST(Errors, RemovedAndMovedArchitectures) {
  EXPECT_EQ(Refusal("OldForCausalLM"), "E2 OldForCausalLM was supported until vLLM 0.9.2");
  EXPECT_EQ(Refusal("FarForCausalLM"),
            "E2 FarForCausalLM lives in plugin https://example.org/far-plugin");
}

TEST(Errors, AmbiguousNameListsItsEvidence) {
  EXPECT_EQ(Refusal("Twin-1.5"),
            "E3 model name 'Twin-1.5' is ambiguous\n"
            "  OpaqueForCausalLM (vllm/model_executor/models/opaque.py:2: # Serves Twin-1.5.)\n"
            "  WrittenForCausalLM (vllm/model_executor/models/written_out.py:2: # Serves "
            "Twin-1.5.)");
}

TEST(Errors, NamesMatchWholeTokensOnly) {
  AnalyzeOptions options;
  options.target = "Solo-2";
  options.vllm_path = Folder();
  options.config_file = Folder() + "/config.json";
  const Analysis analysis = Analyze(options);
  EXPECT_EQ(analysis.model.architecture, "DispatchForCausalLM");
  ASSERT_EQ(analysis.input.evidence.size(), 1u);
  EXPECT_EQ(analysis.input.evidence[0].line, 2);
  EXPECT_EQ(Refusal("Solo"), "E1 unknown architecture 'Solo'");
}

TEST(Errors, Configurations) {
  const TempDir temp;
  const std::string folder = temp.path().string();
  EXPECT_EQ(Refusal(folder), "E4 " + folder + " holds neither config.json nor params.json");
  WriteFile(temp.path() / "bad.json", "{\n  \"a\": 1,\n  oops\n}\n");
  EXPECT_EQ(Refusal(folder + "/bad.json"),
            "E4 " + folder + "/bad.json is not valid JSON: line 3, column 3");
  WriteFile(temp.path() / "config.json", "{\"model_type\": \"nothing_known\"}");
  EXPECT_EQ(Refusal(folder), "E4 " + folder +
                                 "/config.json names no architectures and its model_type "
                                 "'nothing_known' is unknown");
  EXPECT_EQ(Refusal(folder + "/none.json"), "E4 " + folder + "/none.json does not exist");
}

TEST(Errors, PathWithoutVllm) {
  const TempDir temp;
  const std::string folder = fs::weakly_canonical(temp.path()).string();
  EXPECT_EQ(Refusal("PlainForCausalLM", folder),
            "E5 " + folder +
                " holds no vllm/model_executor/models/registry.py and is no vllm package; give "
                "--vllm the root of a checkout, a site-packages directory, or the package itself");
}

TEST(Errors, RegistryEntriesThatNameNothing) {
  EXPECT_EQ(Refusal("GhostForCausalLM"),
            "E6 vllm/model_executor/models/registry.py:9: GhostForCausalLM names module "
            "vllm.model_executor.models.ghost, which does not exist");
  EXPECT_EQ(Refusal("NamelessForCausalLM"),
            "E6 vllm/model_executor/models/registry.py:13: NamelessForCausalLM names class "
            "NamelessForCausalLM, which vllm.model_executor.models.plain does not define");
}

TEST(Errors, FileWithSeveralModels) {
  EXPECT_EQ(Refusal(Folder() + "/two_models.py"),
            "E7 <fixtures>/two_models.py holds several model classes: First (line 6), Second "
            "(line 11); give <fixtures>/two_models.py:CLASS");
  EXPECT_EQ(Refusal(Folder() + "/functions.py"),
            "E7 <fixtures>/functions.py holds no model class: none subclasses nn.Module and has "
            "load_weights or is named in EntryClass or __all__");
  EXPECT_EQ(Refusal(Folder() + "/two_models.py:Third"),
            "E7 <fixtures>/two_models.py has no class Third");
}

TEST(Errors, OptionsAreChecked) {
  AnalyzeOptions options;
  options.target = "PlainForCausalLM";
  options.vllm_path = Folder();
  options.platform = "tpu";
  const auto sentence = [&] {
    try {
      Analyze(options);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(sentence(), "analyze: --platform must be cuda, rocm, xpu, cpu or ascend, got 'tpu'");
  options.platform = "cuda";
  options.dtype = "int8";
  EXPECT_EQ(sentence(), "analyze: --dtype must be a floating type, got 'int8'");
  options.dtype = "bfloat16";
  options.sets = {"nothing"};
  EXPECT_EQ(sentence(), "analyze: --set needs key=value, got 'nothing'");
}

std::string FunctionRefusal(const std::string& name) {
  try {
    TraceFunction(Folder() + "/functions.py", name);
  } catch (const UsageError& error) {
    std::string text = error.what();
    const size_t at = text.find(Folder());
    if (at != std::string::npos) text.replace(at, Folder().size() + 1, "");
    return text;
  }
  return "accepted";
}

TEST(Errors, FunctionsSayWhichConstructAndWhere) {
  EXPECT_EQ(FunctionRefusal("spectrum"),
            "functions.py:30: a call of torch.fft.fft is not supported: `torch.fft.fft(x)`");
  EXPECT_EQ(FunctionRefusal("branches"),
            "functions.py:34: a branch on a tensor's values is not supported: `x.sum() > 0`");
  EXPECT_EQ(FunctionRefusal("no_shape"),
            "functions.py:39: an argument that is neither a tensor like \"bf16[tokens, hidden]\" "
            "nor a float or int is not supported: `x`");
  EXPECT_EQ(FunctionRefusal("bad_shape"),
            "functions.py:43: the annotation 'bf16[tokens; 4]': it must be like \"bf16[tokens, "
            "hidden]\" is not supported: `x: \"bf16[tokens; 4]\"`");
  EXPECT_EQ(FunctionRefusal("mismatch"),
            "functions.py:48: a product of shapes [tokens, 4] and [tokens, 5] is not supported: "
            "`x + y`");
  EXPECT_EQ(FunctionRefusal("in_place"),
            "functions.py:52: an assignment to part of a tensor is not supported: `x[:, 0] = 1`");
  EXPECT_EQ(FunctionRefusal("nothing"),
            "functions.py has no function 'nothing'; it has silu_and_mul, rms_norm, rotate, "
            "gather_rows, spectrum, branches, no_shape, bad_shape, mismatch, in_place");
}

}  // namespace
}  // namespace tenon::analyze
