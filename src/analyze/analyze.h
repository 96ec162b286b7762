// The analyser's entry points: a model of a vLLM tree, or one Python function, to operators.
// Sources are read, never imported.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/analysis.h"
#include "base/error.h"

namespace tenon::analyze {

// A target that cannot be resolved: `code` is E1 to E7 (or E10 when no layer could be built),
// what() is the whole sentence. The command line ends with exit code 2.
class ResolutionError : public UsageError {
 public:
  ResolutionError(std::string code, const std::string& sentence)
      : UsageError(sentence), code_(std::move(code)) {}
  const std::string& code() const { return code_; }

 private:
  std::string code_;
};

struct AnalyzeOptions {
  // Architecture, config.json, model directory, model name, or file.py[:Class].
  std::string target;
  // Root of a checkout or of a site-packages directory, or the package itself. Empty: searched in
  // TENON_VLLM_PATH, then `vllm/` beside the current directory upwards, then site-packages.
  std::string vllm_path;
  // The same for the package transformers, whose configuration classes give default values. Empty:
  // beside vllm/, then site-packages; not required.
  std::string transformers_path;
  std::string platform = "cuda";  // cuda, rocm, xpu, cpu, ascend
  int sm = 90;                    // compute capability * 10 on cuda
  std::string config_file;        // --config
  std::vector<std::string> sets;  // "key=value": config.x or plain x, parallel.x, platform.x
  int tp = 0;                     // 0: two ranks, or one for a model that two cannot share
  std::string dtype = "bfloat16";
  std::string quant;  // empty: that of the config file, else none
  std::vector<int64_t> tokens = {1, 4096};
  bool compile = true;
};

// Parsed files, for several analyses of one tree.
struct SourceCache;
std::shared_ptr<SourceCache> MakeSourceCache();

// All stages. Throws ResolutionError when no model is found; everything later is a diagnostic,
// except that E10 without a single layer is an Analysis with severity "error".
Analysis Analyze(const AnalyzeOptions& options, std::shared_ptr<SourceCache> cache = nullptr);

// The registry of the vLLM tree, for `tenon analyze --list` and `--all`.
struct ListedArchitecture {
  std::string architecture;
  std::string table;   // the dictionary that names it: _TEXT_GENERATION_MODELS ...
  std::string module;  // dotted, absolute
  std::string cls;
};
std::vector<ListedArchitecture> ListArchitectures(const AnalyzeOptions& options);

// Names of the stages in order, and the text form of one stage's result, for --dump=STAGE.
std::vector<std::string> StageNames();
std::string Dump(const AnalyzeOptions& options, std::string_view stage);

// One operator in a line: "12 rms_norm self_attn.q_norm [T, 16, 128] -> [T, 16, 128] file:line".
std::string OpText(const Op& op);

// An argument of a traced function. Tensors have a shape; scalars (float, int, bool, str
// annotations or none) are symbols of the result when they have no default.
struct FunctionArgument {
  std::string name;
  std::optional<TensorUse> tensor;
  std::string scalar_type;  // "", "float", "int", "bool", "str" for scalars
  std::optional<Attr> default_value;
};

// A PyTorch-style function over named-shape tensors, lowered by the same interpreter. Tensor
// arguments are annotated with a string: `x: "bf16[tokens, 2*hidden]"` (dtype by its short or
// torch's name, then sizes; names are symbols, expressions may use + - * and parentheses).
// Unlike in a model's sequence, views are operators here, so that the graph is complete:
//   slice      axis, start, stop, step          reshape (out shape)   transpose axes
//   broadcast  (out shape)   concat axis        cast dtype            reduce kind, axis, keepdim
//   gather     axis 0 rows of in[0] through in[1]
//   add sub mul div maximum minimum pow ...     a scalar operand is attrs.scalar (attrs.reversed
//                                               when it stands on the left), or, for a scalar
//                                               argument, attrs.scalar_arg = its name
struct FunctionTrace {
  std::string name;
  std::string file;
  int line = 0;
  std::string doc;
  std::vector<FunctionArgument> arguments;
  std::vector<Op> ops;
  std::vector<TensorUse> results;  // ids of `ops` outputs or of arguments
};

// Throws UsageError with file:line and the construct when the function cannot be lowered.
FunctionTrace TraceFunction(const std::filesystem::path& path, std::string_view name);

}  // namespace tenon::analyze
