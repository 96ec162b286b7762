// tenon analyze: a model of a vLLM tree to a report.
#include "analyze/analyze.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/findings.h"
#include "cli/flags.h"
#include "report/compare.h"
#include "report/report.h"

namespace tenon::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  analyze::AnalyzeOptions analyze;
  std::string compile = "on";
  std::string device;
  std::string format;
  std::string folder;
  std::optional<int> variant;
  std::string dump;
  std::string expect;
  std::string diff;
  bool list = false;
  bool all = false;
  bool strict = false;
  bool quiet = false;
  bool timings = false;
};

constexpr const char* kFooter =
    "TARGET is an architecture (Qwen3ForCausalLM), a config.json or the folder that holds it, a "
    "model\n"
    "name (Qwen/Qwen3-8B), or a Python file with an optional class (my_model.py:Model). vLLM is "
    "found\n"
    "by --vllm, TENON_VLLM_PATH, a folder vllm/ here or above, or site-packages; it is never "
    "imported.\n"
    "\n"
    "A file for --expect has a line 'SCENE STATUS' for each fusion that must be there ('A1 "
    "fused').\n"
    "\n"
    "Examples:\n"
    "  tenon analyze Qwen3ForCausalLM --format all -o out\n"
    "  tenon analyze Qwen3ForCausalLM --format github --expect fusions.txt --strict\n"
    "\n"
    "Exit codes: 0 a report was made, 1 an expectation failed, or --strict found opaque operators "
    "or\n"
    "errors, 2 the target cannot be resolved.";

std::string FormOf(const report::Report& report, std::string_view format) {
  if (format == "json") return report::ToJson(report);
  if (format == "html") return report::ToHtml(report);
  if (format == "github") return report::ToGithub(report);
  return report::ToMarkdown(report);
}

// Without a folder one form goes to standard output; with one, each form to its file.
void Write(const report::Report& report, const Options& options) {
  if (options.folder.empty()) {
    TENON_CHECK(options.format != "all", "--format all writes several files: add -o FOLDER");
    Print(FormOf(report, options.format));
    return;
  }
  constexpr std::pair<const char*, const char*> kFiles[] = {
      {"markdown", "report.md"}, {"json", "report.json"}, {"html", "report.html"}};
  bool written = false;
  for (const auto& [format, file] : kFiles) {
    if (options.format != "all" && options.format != format) continue;
    const fs::path path = fs::path(options.folder) / file;
    WriteFile(path, FormOf(report, format));
    if (!options.quiet) fmt::print(stderr, "tenon: wrote {}\n", path.string());
    written = true;
  }
  TENON_CHECK(written, "--format {} goes to standard output: leave out -o", options.format);
}

void KeepVariant(report::Report& report, int id) {
  std::vector<analyze::Variant>& variants = report.analysis.variants;
  std::vector<std::string> ids;
  for (const analyze::Variant& variant : variants) ids.push_back(std::to_string(variant.id));
  std::erase_if(variants, [id](const analyze::Variant& v) { return v.id != id; });
  TENON_CHECK(!variants.empty(), "--variant {}: the model has {}", id,
              ids.empty() ? "none" : "the variants " + Join(ids, ", "));
  std::erase_if(report.findings.opportunities, [id](const fuse::Opportunity& o) {
    return o.variant != id || (o.next && o.next->variant != id);
  });
  std::erase_if(report.findings.near_misses,
                [id](const fuse::NearMiss& miss) { return miss.variant != id; });
}

report::Report Make(const Options& options) {
  const std::string device =
      options.device.empty() ? DefaultDevice(options.analyze.platform) : options.device;
  report::Report report = MakeReport(analyze::Analyze(options.analyze), options.analyze.sm, device);
  // Times differ from run to run; without them the same input gives the same bytes.
  if (!options.timings) report.analysis.stats.ms.clear();
  if (options.variant) KeepVariant(report, *options.variant);
  return report;
}

int Verdict(const report::Report& report, const Options& options) {
  std::vector<std::string> complaints;
  if (!options.expect.empty()) {
    complaints = report::UnmetExpectations(report, ReadFile(options.expect), options.expect);
  }
  if (options.strict && report.analysis.stats.opaque > 0) {
    complaints.push_back(
        fmt::format("--strict: {} operators are opaque", report.analysis.stats.opaque));
  }
  for (const analyze::Diagnostic& diagnostic : report.analysis.diagnostics) {
    if (diagnostic.severity == "note" || (options.quiet && !options.strict)) continue;
    const std::string sentence =
        fmt::format("{}{}: {}", diagnostic.severity,
                    diagnostic.code.empty() ? "" : " " + diagnostic.code, diagnostic.message);
    if (options.strict && diagnostic.severity == "error") {
      complaints.push_back(sentence);
    } else {
      fmt::print(stderr, "tenon: {}\n", sentence);
    }
  }
  for (const std::string& complaint : complaints) fmt::print(stderr, "tenon: {}\n", complaint);
  return complaints.empty() ? kOk : kFailed;
}

int Diff(const report::Report& now, const std::string& old_file) {
  const report::Report old = report::ReadReport(ReadFile(old_file), old_file);
  std::string text;
  for (const std::string& line : report::Differences(old, now)) text += line + "\n";
  Print(text.empty() ? "no differences\n" : text);
  return kOk;
}

int List(const Options& options) {
  std::string text;
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const analyze::ListedArchitecture& listed : analyze::ListArchitectures(options.analyze)) {
    text += fmt::format("{:<48} {}:{}\n", listed.architecture, listed.module, listed.cls);
    json.push_back({{"architecture", listed.architecture},
                    {"table", listed.table},
                    {"module", listed.module},
                    {"class", listed.cls}});
  }
  Print(options.format == "json" ? json.dump(2) + "\n" : text);
  return kOk;
}

// Every architecture of the registry, one line or object each.
int All(Options options) {
  std::string text;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  int unresolved = 0;
  const std::shared_ptr<analyze::SourceCache> cache = analyze::MakeSourceCache();
  for (const analyze::ListedArchitecture& listed : analyze::ListArchitectures(options.analyze)) {
    options.analyze.target = listed.architecture;
    std::vector<std::string> opaque;
    bool resolved = true;
    size_t assumptions = 0;
    try {
      const analyze::Analysis analysis = analyze::Analyze(options.analyze, cache);
      resolved = !analysis.HasErrors();
      assumptions = analysis.assumptions.size();
      for (const analyze::Variant& variant : analysis.variants) {
        for (const analyze::Op& op : variant.ops) {
          if (op.op != "opaque") continue;
          const analyze::Attr* reason = op.Find("reason");
          opaque.push_back(
              fmt::format("{}:{}: {}", op.file, op.line,
                          reason == nullptr ? "" : std::get<std::string>(reason->value)));
        }
      }
    } catch (const analyze::ResolutionError&) {
      resolved = false;
    }
    std::sort(opaque.begin(), opaque.end());
    opaque.erase(std::unique(opaque.begin(), opaque.end()), opaque.end());
    unresolved += !resolved;
    text += fmt::format("{:<48} {:<10} {} opaque, {} assumptions\n", listed.architecture,
                        resolved ? "resolved" : "unresolved", opaque.size(), assumptions);
    for (const std::string& one : opaque) text += "  " + one + "\n";
    rows.push_back({{"architecture", listed.architecture},
                    {"resolved", resolved},
                    {"opaque", opaque},
                    {"assumptions", assumptions}});
  }
  const nlohmann::ordered_json json = {{"architectures", rows}};
  Print(options.format == "json" ? json.dump(1) + "\n" : text);
  return options.strict && unresolved > 0 ? kFailed : kOk;
}

int Run(Options options) {
  options.analyze.compile = options.compile == "on";
  if (options.list) return List(options);
  if (options.all) return All(options);
  TENON_CHECK(!options.analyze.target.empty(),
              "analyze: TARGET is missing (`tenon analyze --help` shows its forms)");
  if (!options.dump.empty()) {
    Print(analyze::Dump(options.analyze, options.dump));
    return kOk;
  }
  const report::Report report = Make(options);
  if (!options.diff.empty()) return Diff(report, options.diff);
  Write(report, options);
  return Verdict(report, options);
}

void AddModelFlags(CLI::App* command, Options& options) {
  analyze::AnalyzeOptions& a = options.analyze;
  command->add_option("TARGET", a.target, "Architecture, config, folder, model name, or file");
  command->add_option("--vllm", a.vllm_path, "Root of vLLM's sources")->option_text("PATH");
  command
      ->add_option("--transformers", a.transformers_path,
                   "Root of Transformers' sources: default values of configurations")
      ->option_text("PATH");
  command->add_option("--platform", a.platform, "cuda, rocm, xpu, cpu or ascend")
      ->check(CLI::IsMember({"cuda", "rocm", "xpu", "cpu", "ascend"}))
      ->option_text("NAME");
  command->add_option("--sm", a.sm, "Compute capability times 10, on cuda (default: 90)")
      ->option_text("N");
  command->add_option("--config", a.config_file, "config.json with the model's values")
      ->option_text("FILE");
  command->add_option("--set", a.sets, "Overrides a value: hidden_size=4096, platform.x=...")
      ->option_text("KEY=VALUE");
  command
      ->add_option("--tp", a.tp,
                   "Tensor parallel ranks (default: 2, or 1 where 2 cannot share the model)")
      ->check(CLI::PositiveNumber)
      ->option_text("N");
  command->add_option("--dtype", a.dtype, "Type of activations (default: bfloat16)")
      ->option_text("NAME");
  command->add_option("--quant", a.quant, "Quantisation scheme")->option_text("NAME");
  command->add_option("--tokens", a.tokens, "Token counts to report on (default: 1,4096)")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->option_text("N[,M]");
  command
      ->add_option("--device", options.device,
                   "Profile that times are predicted with (default: h200 or that of --platform)")
      ->option_text("PROFILE");
  command->add_option("--compile", options.compile, "Whether the engine compiles: on or off")
      ->check(CLI::IsMember({"on", "off"}))
      ->option_text("on|off");
}

void AddOutputFlags(CLI::App* command, Options& options) {
  AddFormat(command, options.format, {"markdown", "json", "html", "github", "all"});
  command->add_option("-o", options.folder, "Write report.md, report.json, report.html there")
      ->option_text("FOLDER");
  command->add_option("--variant", options.variant, "Report this variant of layer only")
      ->option_text("ID");
  command
      ->add_option("--dump", options.dump,
                   "Print the result of one stage instead: " + Join(analyze::StageNames(), ", "))
      ->option_text("STAGE");
  command->add_flag("--list", options.list, "List the architectures of the registry instead");
  command->add_flag("--all", options.all, "Analyse every architecture; one line each");
  command->add_option("--expect", options.expect, "Exit with 1 unless these fusions are there")
      ->option_text("FILE");
  command->add_option("--diff", options.diff, "Print what changed since this report instead")
      ->option_text("OLD.json");
  command->add_flag("--strict", options.strict, "Exit with 1 when something is not understood");
  command->add_flag("--quiet", options.quiet, "No warnings and no file names on standard error");
  command->add_flag("--timings", options.timings, "Put milliseconds per stage into the JSON");
}

}  // namespace

void AddAnalyze(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("analyze",
                         "Reads a model's sources and reports its code locations, the operators of "
                         "a decoder layer in\n"
                         "order, which of them are fused, and which fusions are worth doing.");
  const auto options = std::make_shared<Options>();
  AddModelFlags(command, *options);
  AddOutputFlags(command, *options);
  command->footer(kFooter);
  command->callback([options, &exit_code] { exit_code = Run(*options); });
}

}  // namespace tenon::cli
