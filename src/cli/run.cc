// tenon run: one call of an operator, against its reference.
#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/dtype.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "ir/host_array.h"
#include "ops/case.h"
#include "ops/check.h"
#include "ops/dispatch.h"
#include "ops/reference.h"

namespace tenon::cli {
namespace {

struct Options {
  std::vector<std::string> words;
  std::vector<int64_t> tokens = {4};
  std::string dtype = "f32";
  std::string kernel;
  std::string format;
  uint64_t seed = 1;
};

constexpr const char* kFooter =
    "A case is an operator, its sizes and attributes, and the optional tensors that are given, as "
    "in\n"
    "bench/shapes/*.txt (`tenon ops NAME` shows them). Inputs are random numbers, the same for "
    "the\n"
    "same seed.\n"
    "\n"
    "Example:\n"
    "  tenon run rms_norm hidden=4096 eps=1e-6 +weight --tokens 64 --dtype bf16";

// What one output holds, and how far it is from the reference.
struct OutputRow {
  std::string name;
  std::string type;  // "bf16[64, 4096]"
  double first = 0;
  double largest = 0;     // magnitude
  double difference = 0;  // largest |kernel - reference|
};

void RunKernel(ops::Case& test, const std::string& name, std::string& ran) {
  const std::vector<Tensor> views = test.OutputViews();
  if (name == "reference") {
    ops::RunReference(test.call(), views);
    ran = name;
    return;
  }
  const std::span<const ops::Kernel> kernels = ops::KernelsOf(*test.call().op);
  const auto chosen = std::find_if(kernels.begin(), kernels.end(),
                                   [&](const ops::Kernel& k) { return k.name == name; });
  std::string known = "reference";
  for (const ops::Kernel& kernel : kernels) known += fmt::format(", {}", kernel.name);
  TENON_CHECK(name.empty() || chosen != kernels.end(), "run: {} has the kernels {}, got '{}'",
              test.spec().op, known, name);
  const ops::Kernel& kernel = name.empty() ? ops::ChooseKernel(test.call()) : *chosen;
  kernel.run(test.call(), views);
  ran = kernel.name;
}

std::vector<OutputRow> Compare(const ops::Case& test, const std::vector<ir::HostArray>& expected) {
  std::vector<OutputRow> rows;
  const std::vector<Tensor> views = test.OutputViews();
  for (size_t i = 0; i < views.size(); ++i) {
    if (test.call().outputs[i].none) continue;  // stands for an optional input that is not there
    const ir::HostArray got = ir::LoadTensor(views[i]);
    OutputRow row;
    const ops::BoundOutput& output = test.call().outputs[i];
    row.name = output.param->name;
    row.type = fmt::format("{}{}", DTypeName(output.spec.dtype), ShapeText(output.spec.shape));
    row.first = got.numel() > 0 ? got.Value(0) : 0;
    for (int64_t at = 0; at < got.numel(); ++at) {
      row.largest = std::max(row.largest, std::abs(got.Value(at)));
      row.difference = std::max(row.difference, std::abs(got.Value(at) - expected[i].Value(at)));
    }
    rows.push_back(row);
  }
  return rows;
}

int Run(const Options& options) {
  ops::CaseSpec spec = ops::ParseCase(Join(options.words, " "));
  spec.lead = options.tokens;
  spec.storage = ParseStorage(options.dtype, "--dtype");
  spec.seed = options.seed;
  ops::Case test(spec);
  test.FillTensors();
  // Before the kernel: an in-place form overwrites its arguments.
  const std::vector<ir::HostArray> expected = ops::ReferenceValues(test.call());
  std::string ran;
  RunKernel(test, options.kernel, ran);
  nlohmann::ordered_json json = {{"case", ops::CaseText(spec)}, {"kernel", ran}};
  std::string text = fmt::format("case     {}\nkernel   {}\n", ops::CaseText(spec), ran);
  for (const OutputRow& row : Compare(test, expected)) {
    text += fmt::format(
        "{:<8} {}, first {:.6g}, largest {:.6g}, differs from the reference by at "
        "most {:.3g}\n",
        row.name, row.type, row.first, row.largest, row.difference);
    json["outputs"].push_back({{"name", row.name},
                               {"type", row.type},
                               {"first", row.first},
                               {"largest", row.largest},
                               {"difference", row.difference}});
  }
  const std::string deviation = ops::DeviationFromReference(test);
  json["check"] = deviation.empty() ? "ok" : deviation;
  text += fmt::format("check    {}\n",
                      deviation.empty() ? "within the documented tolerance" : "FAIL " + deviation);
  Print(options.format == "json" ? json.dump(2) + "\n" : text);
  return deviation.empty() ? kOk : kFailed;
}

}  // namespace

void AddRun(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "run",
      "Calls an operator once on random inputs and compares it with its float64 reference. Exit\n"
      "code 1 when they differ by more than the documented tolerance.");
  const auto options = std::make_shared<Options>();
  command->add_option("CASE", options->words, "Operator, name=value ..., +tensor ...")->required();
  command->add_option("--tokens", options->tokens, "Leading axes of the tensors (default: 4)")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber)
      ->option_text("N[,M]");
  command->add_option("--dtype", options->dtype, "Storage type: f32, f16 or bf16 (default: f32)")
      ->option_text("NAME");
  command->add_option("--kernel", options->kernel, "reference, or a kernel instead of the best one")
      ->option_text("NAME");
  command->add_option("--seed", options->seed, "Of the random numbers (default: 1)")
      ->option_text("N");
  AddFormat(command, options->format, {"text", "json"});
  command->footer(kFooter);
  command->callback([options, &exit_code] { exit_code = Run(*options); });
}

}  // namespace tenon::cli
