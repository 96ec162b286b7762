// tenon bench: how fast operators are here, and how fast they could be.
#include "ops/bench.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "backend/cpu/parallel.h"
#include "backend/cpu/targets.h"
#include "backend/profile.h"
#include "base/error.h"
#include "base/files.h"
#include "cli/command.h"
#include "cli/commit.h"
#include "cli/flags.h"

namespace tenon::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::vector<std::string> ops;
  std::vector<std::string> shapes;
  std::vector<int64_t> tokens = {1, 64, 4096};
  std::vector<std::string> dtypes = {"f32", "bf16"};
  int threads = 0;
  int repeats = 9;
  std::string file;
  std::string format;
};

std::vector<ops::CaseSpec> CasesOf(const Options& options) {
  std::vector<ops::CaseSpec> cases;
  for (const std::string& file : options.shapes) {
    for (ops::CaseSpec& spec : ops::ReadCases(file)) {
      const bool wanted = options.ops.empty() || std::find(options.ops.begin(), options.ops.end(),
                                                           spec.op) != options.ops.end();
      if (wanted) cases.push_back(std::move(spec));
    }
  }
  TENON_CHECK(
      !cases.empty(), "bench: no line of {} is one of {}", fmt::join(options.shapes, ", "),
      options.ops.empty() ? "the operators" : fmt::format("{}", fmt::join(options.ops, ", ")));
  return cases;
}

Json JsonOf(const ops::BenchRow& row, const ops::MachineLimits& limits, const std::string& device) {
  Json json = {{"op", row.op},
               {"case", row.text},
               {"dtype", row.dtype},
               {"tokens", row.tokens},
               {"check", row.check.empty() ? "ok" : row.check}};
  if (row.check.empty()) {
    json.update({{"kernel_us", row.kernel_us},
                 {"call_us", row.call_us},
                 {"spread", row.spread},
                 {"bytes", row.bytes},
                 {"gb_per_s", row.gb_per_s()},
                 {"arithmetic_us", row.arithmetic_us},
                 {"limit_us", row.limit_us},
                 {"share_of_limit", row.share_of_limit()}});
    if (row.chain_us > 0) {
      json.update({{"chain_us", row.chain_us}, {"chain_ratio", row.chain_ratio()}});
    }
  }
  json.update({{"copy_gb_per_s", row.check.empty() ? row.copy_gb_per_s : limits.copy_gb_per_s},
               {"threads", limits.threads},
               {"target", cpu::TargetName(cpu::ChosenTarget())},
               {"device", device},
               {"tenon", TENON_VERSION},
               {"commit", TENON_COMMIT}});
  return json;
}

std::string TextOf(const ops::BenchRow& row) {
  std::string line = fmt::format("{:<43}{:<6}{:>6}", row.op, row.dtype, row.tokens);
  if (!row.check.empty()) return line + "  FAIL " + row.check + "\n";
  line += fmt::format("{:>11.2f}{:>11.2f}{:>9.1f}{:>8.2f}", row.kernel_us, row.call_us,
                      row.gb_per_s(), row.share_of_limit());
  return line + (row.chain_us > 0 ? fmt::format("{:>8.2f}x\n", row.chain_ratio()) : "\n");
}

int Run(const Options& options) {
  const std::vector<ops::CaseSpec> cases = CasesOf(options);
  cpu::SetNumThreads(options.threads);
  const ops::MachineLimits limits = ops::MeasureLimits();
  const std::string device = backend::ProcessorName();
  const bool text = options.format == "text";
  if (text) {
    Print(fmt::format(
        "{}, {} threads, copy {:.1f} GB/s\n{:<43}{:<6}{:>6}{:>11}{:>11}{:>9}{:>8}{:>9}\n", device,
        limits.threads, limits.copy_gb_per_s, "operator", "dtype", "tokens", "kernel us", "call us",
        "GB/s", "limit", "chain"));
  }
  std::string lines;
  bool failed = false;
  for (ops::CaseSpec spec : cases) {
    for (const std::string& dtype : options.dtypes) {
      for (const int64_t tokens : options.tokens) {
        TENON_CHECK(tokens > 0, "bench: --tokens must be positive, got {}", tokens);
        spec.storage = ParseStorage(dtype, "--dtype");
        spec.param = spec.storage;
        spec.lead = {tokens};
        const ops::BenchRow row = ops::Bench(spec, limits, {.repeats = options.repeats});
        failed = failed || !row.check.empty();
        lines += JsonOf(row, limits, device).dump() + "\n";
        if (text) Print(TextOf(row));
      }
    }
  }
  if (!text) Print(lines);
  if (!options.file.empty()) WriteFile(options.file, lines);
  return failed ? kFailed : kOk;
}

}  // namespace

void AddBench(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "bench",
      "Times operators on the CPU. Each case is checked against the float64 reference first; then\n"
      "come the kernel alone, the whole call, the share of this machine's limit (the larger of\n"
      "bytes over copy bandwidth and arithmetic time in L1, both measured in this run) and how "
      "much\n"
      "longer the unfused chain takes. Medians of interleaved repeats.");
  const auto options = std::make_shared<Options>();
  command->add_option("OP", options->ops, "Only these operators");
  command->add_option("--shapes", options->shapes, "Files of cases, such as bench/shapes/*.txt")
      ->required()
      ->check(CLI::ExistingFile);
  command->add_option("--tokens", options->tokens, "Numbers of rows")->delimiter(',');
  command->add_option("--dtype", options->dtypes, "Storage types")->delimiter(',');
  command->add_option("--threads", options->threads, "Threads (default: all)");
  command->add_option("--repeats", options->repeats, "Interleaved repeats")
      ->check(CLI::Range(1, 1000));
  command->add_option("-o", options->file, "Write JSON lines to this file, too")
      ->option_text("FILE");
  AddFormat(command, options->format, {"text", "json"});
  command->footer(
      "Exit code 1 when a check fails; no time is given then.\n"
      "Example:\n  tenon bench rms_norm silu_and_mul --shapes bench/shapes/llama-3-8b.txt --tokens "
      "64");
  command->callback([options, &exit_code] { exit_code = Run(*options); });
}

}  // namespace tenon::cli
