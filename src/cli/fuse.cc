// tenon fuse: one chain to a checked and timed operator.
#include "fuse/fuse.h"

#include <memory>

#include "analyze/lower.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "report/report.h"

namespace tenon::cli {
namespace {

struct Options {
  std::string source;
  std::optional<int> opportunity;
  std::string target;
  std::string folder = "tenon-out";
  std::string dtype;
  std::vector<int64_t> tokens;
  std::vector<std::string> sizes;
  std::vector<std::string> scalars;
  int repeats = 9;
  std::string format;
  bool quiet = false;
};

constexpr const char* kFooter =
    "SOURCE is a report of `tenon analyze` (with --opportunity), or "
    "FILE.py:FUNCTION, a PyTorch-style\n"
    "function whose tensors are annotated with their type and sizes:\n"
    "\n"
    "  def scaled_silu(x: \"bf16[tokens, hidden]\", scale: float):\n"
    "      return torch.nn.functional.silu(x) * scale\n"
    "\n"
    "The new operator is checked against a float64 reference and, bit for bit, "
    "against the unfused\n"
    "chain; then both are timed. What gains nothing is not written.\n"
    "\n"
    "Examples:\n"
    "  tenon fuse out/report.json --opportunity 1\n"
    "  tenon fuse my_ops.py:scaled_silu --size hidden=4096 --scalar scale=0.5\n"
    "\n"
    "Exit codes: 0 written, 1 the check failed or nothing is gained, 2 usage "
    "or input at fault.";

fuse::FuseOptions ToFuseOptions(const Options& options) {
  fuse::FuseOptions out;
  out.output = options.folder;
  if (!options.dtype.empty()) out.storage = ParseStorage(options.dtype, "--dtype");
  if (!options.tokens.empty()) out.tokens = options.tokens;
  out.repeats = options.repeats;
  for (const std::string& text : options.sizes) {
    const auto [name, value] = SplitPair(text, "--size");
    out.sizes[name] = ParseInteger(value, "--size");
  }
  for (const std::string& text : options.scalars) {
    const auto [name, value] = SplitPair(text, "--scalar");
    out.scalars[name] = ParseReal(value, "--scalar");
  }
  if (!options.quiet) {
    out.progress = [](std::string_view line) { fmt::print(stderr, "tenon: {}\n", line); };
  }
  return out;
}

fuse::FuseResult Fuse(const Options& options) {
  const fuse::FuseOptions fuse_options = ToFuseOptions(options);
  if (options.source.ends_with(".json")) {
    TENON_CHECK(options.opportunity, "fuse: --opportunity says which one of {}", options.source);
    const report::Report report = report::ReadReport(ReadFile(options.source), options.source);
    return fuse::FuseOpportunity(
        report.findings, *options.opportunity,
        ParseStorage(report.analysis.environment.dtype, "environment.dtype of the report"),
        fuse_options);
  }
  const size_t colon = options.source.rfind(':');
  TENON_CHECK(colon != std::string::npos && options.source.substr(0, colon).ends_with(".py"),
              "fuse: expected REPORT.json or FILE.py:FUNCTION, got '{}'", options.source);
  TENON_CHECK(!options.opportunity, "fuse: --opportunity goes with a report, not with a function");
  const analyze::FunctionTrace trace =
      analyze::TraceFunction(options.source.substr(0, colon), options.source.substr(colon + 1));
  return fuse::FuseFunction(analyze::LowerFunction(trace), fuse_options);
}

std::string TextOf(const fuse::FuseResult& result) {
  std::string out = fmt::format("operator  {}: {}\n", result.name, Join(result.chain, " + "));
  out += fmt::format("check     {}\n", result.check.Sentence());
  for (const fuse::Timing& timing : result.timings) {
    out += fmt::format("time      {} tokens: {:.2f} us fused, {:.2f} us unfused, {:.2f}x\n",
                       timing.tokens, timing.fused_us, timing.chain_us, timing.speedup());
  }
  if (!result.artefact.empty()) out += fmt::format("written   {}\n", result.artefact.string());
  return out + fmt::format("result    {}\n", result.sentence);
}

int Run(const Options& options) {
  const fuse::FuseResult result = Fuse(options);
  Print(options.format == "json" ? fuse::ResultJson(result) : TextOf(result));
  return result.ok() ? kOk : kFailed;
}

}  // namespace

void AddFuse(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("fuse",
                         "Generates the fused operator of an opportunity or a function, "
                         "checks and times it.");
  const auto options = std::make_shared<Options>();
  command->add_option("SOURCE", options->source, "REPORT.json or FILE.py:FUNCTION")->required();
  command->add_option("--opportunity", options->opportunity, "Number in the report")
      ->option_text("N");
  command->add_option("--target", options->target, "Language of the kernel: cpp")
      ->check(CLI::IsMember({"cpp"}))
      ->option_text("NAME");
  command->add_option("-o", options->folder, "Folder for the artefact (default: tenon-out)")
      ->option_text("FOLDER");
  command
      ->add_option("--dtype", options->dtype,
                   "Storage type: f32, f16 or bf16 (default: the model's)")
      ->option_text("NAME");
  command->add_option("--tokens", options->tokens, "Token counts to time (default: 1,4096)")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->option_text("N[,M]");
  command->add_option("--size", options->sizes, "Value of a size that the source leaves open")
      ->option_text("NAME=N");
  command->add_option("--scalar", options->scalars, "Value of a scalar argument")
      ->option_text("NAME=X");
  command->add_option("--repeats", options->repeats, "Timed runs of each; medians are reported")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->option_text("N");
  AddFormat(command, options->format, {"text", "json"});
  command->add_flag("--quiet", options->quiet, "No progress on standard error");
  command->footer(kFooter);
  command->callback([options, &exit_code] { exit_code = Run(*options); });
}

}  // namespace tenon::cli
