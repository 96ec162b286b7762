// Chains of primitive operators, as `tenon fuse file.py:function` gives them, end to end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/files.h"
#include "fuse/fuse.h"
#include "fuse/process.h"
#include "layer_builder.h"

namespace tenon::fuse {
namespace {

using analyze::Attr;
using analyze::TensorUse;
using ir::Dim;
using ::testing::HasSubstr;

class FunctionBuilder {
 public:
  explicit FunctionBuilder(std::string name) {
    trace_.name = std::move(name);
    trace_.file = "gate.py";
  }
  TensorUse New(analyze::Shape shape, std::string dtype = "bfloat16") {
    TensorUse use;
    use.id = next_id_++;
    use.dtype = std::move(dtype);
    for (size_t i = 0; i < shape.size(); ++i) use.axes.push_back(i == 0 ? "tokens" : "channels");
    use.shape = std::move(shape);
    return use;
  }
  TensorUse Argument(std::string name, analyze::Shape shape, std::string dtype = "bfloat16") {
    analyze::FunctionArgument argument;
    argument.name = std::move(name);
    argument.tensor = New(std::move(shape), std::move(dtype));
    trace_.arguments.push_back(argument);
    return *argument.tensor;
  }
  TensorUse Add(std::string op, std::vector<TensorUse> in, TensorUse out, Attr::Map attrs = {}) {
    analyze::Op& added = trace_.ops.emplace_back();
    added.i = static_cast<int>(trace_.ops.size()) - 1;
    added.op = std::move(op);
    added.in = std::move(in);
    added.out = {out};
    added.attrs = std::move(attrs);
    added.file = "gate.py";
    added.line = 10 + added.i;
    return out;
  }
  ir::Graph Build(std::vector<TensorUse> results) {
    trace_.results = std::move(results);
    return analyze::LowerFunction(trace_);
  }

 private:
  analyze::FunctionTrace trace_;
  int next_id_ = 0;
};

class Function : public ::testing::Test {
 protected:
  Function() {
    setenv("TENON_CACHE_DIR", (folder_.path() / "cache").c_str(), 1);
    options_.output = folder_.path() / "out";
    options_.tokens = {64};
    options_.repeats = 3;
  }
  ~Function() override { unsetenv("TENON_CACHE_DIR"); }
  TempDir folder_;
  FuseOptions options_;
};

const Dim kTokens2 = Dim("tokens");
const Dim kHidden = Dim("hidden");

TEST_F(Function, AGateOverAMeanIsOneKernelWithTheChainsBits) {
  FunctionBuilder f("gated_scale");
  const TensorUse x = f.Argument("x", {kTokens2, kHidden});
  const TensorUse gate = f.Argument("gate", {kTokens2, kHidden});
  const TensorUse sigmoid = f.Add("sigmoid", {gate}, f.New({kTokens2, kHidden}));
  const TensorUse mul = f.Add("mul", {x, sigmoid}, f.New({kTokens2, kHidden}));
  const TensorUse mean =
      f.Add("reduce", {mul}, f.New({kTokens2, Dim(1)}),
            {{"kind", "mean"}, {"axes", analyze::Attr::List{1}}, {"keepdim", true}});
  const TensorUse y = f.Add("sub", {mul, mean}, f.New({kTokens2, kHidden}));
  const TensorUse half = f.Add("mul", {y}, f.New({kTokens2, kHidden}), {{"scalar", 0.25}});
  const TensorUse z = f.Add("mul", {half}, f.New({kTokens2, kHidden}), {{"scalar", 2}});
  const FuseResult result = FuseFunction(f.Build({z}), options_);
  EXPECT_TRUE(result.check.passed()) << result.check.Sentence();
  ASSERT_EQ(result.status, FuseStatus::kFused) << result.sentence;

  // The module runs with numpy alone; the values are those of the formula.
  const std::string script = fmt::format(
      "import sys; sys.path.insert(0, '{}')\n"
      "import numpy as np, interface\n"
      "bits = lambda a: (a.view(np.uint32) >> 16).astype(np.uint16)\n"
      "wide = lambda a: (a.astype(np.uint32) << 16).view(np.float32)\n"
      "x = np.full((3, 40), 2, np.float32); x[:, ::2] = 1\n"
      "g = np.zeros((3, 40), np.float32)\n"
      "(y,) = interface.gated_scale(bits(x), bits(g))\n"
      "assert np.array_equal(wide(y), (x * 0.5 - 0.75) * 0.5), wide(y)\n"
      "try:\n"
      "    interface.gated_scale(bits(x), bits(g)[:, :39])\n"
      "except ValueError as e:\n"
      "    assert 'gated_scale: gate must be' in str(e), e\n"
      "else:\n"
      "    raise SystemExit('a wrong shape passed')\n"
      "print('ok')\n",
      result.artefact.string());
  WriteFile(folder_.path() / "call.py", script);
  const ProcessResult python = RunProcess({TENON_PYTHON, (folder_.path() / "call.py").string()});
  if (python.output.find("No module named 'numpy'") != std::string::npos)
    GTEST_SKIP() << "no numpy";
  EXPECT_EQ(python.output, "ok\n");
}

TEST_F(Function, OneOperatorIsNothingToFuse) {
  FunctionBuilder f("just_exp");
  const TensorUse x = f.Argument("x", {kTokens2, kHidden});
  const TensorUse y = f.Add("exp", {x}, f.New({kTokens2, kHidden}));
  const FuseResult result = FuseFunction(f.Build({y}), options_);
  EXPECT_EQ(result.status, FuseStatus::kNoGain);
  EXPECT_THAT(result.sentence, HasSubstr("there is nothing to fuse"));
  EXPECT_TRUE(result.artefact.empty());
}

TEST_F(Function, AnUnsupportedOperatorIsNamedWithItsLine) {
  FunctionBuilder f("sorts");
  const TensorUse x = f.Argument("x", {kTokens2, kHidden});
  const TensorUse y = f.Add("sort", {x}, f.New({kTokens2, kHidden}));
  try {
    FuseFunction(f.Build({y}), options_);
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), HasSubstr("sort (gate.py:10) cannot be part of a generated kernel"));
  }
}

}  // namespace
}  // namespace tenon::fuse
