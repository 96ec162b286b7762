// tenon ops: the operators of the library, from their contracts.
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "ops/registry.h"

namespace tenon::cli {
namespace {

struct Options {
  std::string name;
  std::string format;
};

std::vector<const ops::Operator*> Chosen(const std::string& name) {
  if (!name.empty()) return {ops::FindOperator(name).op};
  std::vector<const ops::Operator*> all;
  for (const ops::Operator& op : ops::Operators()) all.push_back(&op);
  return all;
}

// The functional schema, then those of the in-place forms.
std::vector<std::string> Schemas(const ops::Contract& contract) {
  std::vector<std::string> schemas;
  if (contract.functional()) schemas.push_back(contract.Schema());
  for (const ops::InPlaceForm& form : contract.in_place_forms()) {
    schemas.push_back(contract.Schema(&form));
  }
  return schemas;
}

std::string TextOf(const ops::Contract& contract) {
  std::string out =
      fmt::format("{} ({})\n  {}\n", contract.name(), contract.family(), contract.doc());
  for (const std::string& schema : Schemas(contract)) out += "  " + schema + "\n";
  for (const ops::Param& param : contract.params()) {
    if (!param.is_tensor) continue;
    std::string shapes;
    for (const ops::Shape& shape : param.shapes) {
      shapes += (shapes.empty() ? "[" : " or [") + shape.text() + "]";
    }
    out += fmt::format("  {:<20} {}{}\n", param.name, shapes, param.optional ? ", optional" : "");
  }
  for (const ops::Requirement& requirement : contract.requirements()) {
    out += "  " + requirement.sentence + "\n";
  }
  return out;
}

nlohmann::ordered_json JsonOf(const ops::Contract& contract) {
  return {{"name", contract.name()},
          {"family", contract.family()},
          {"formula", contract.doc()},
          {"schemas", Schemas(contract)}};
}

std::string Markdown(const std::vector<const ops::Operator*>& operators) {
  std::string out =
      "# Operators\n\nWritten by `tenon ops --format markdown` from the contracts in `src/ops/`. A "
      "name that ends in `_` writes\nits results over its arguments. Kernels are generated; each "
      "is "
      "checked against its contract's body\nevaluated in float64.\n";
  std::string family;
  for (const ops::Operator* op : operators) {
    const ops::Contract& contract = op->contract();
    if (contract.family() != family) out += fmt::format("\n## {}\n", contract.family());
    family = contract.family();
    out += fmt::format("\n### {}\n\n`{}`\n\n```\n", contract.name(), contract.doc());
    for (const std::string& schema : Schemas(contract)) out += schema + "\n";
    out += "```\n";
  }
  return out;
}

int Run(const Options& options) {
  const std::vector<const ops::Operator*> operators = Chosen(options.name);
  if (options.format == "markdown") {
    Print(Markdown(operators));
    return kOk;
  }
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  std::string text;
  for (const ops::Operator* op : operators) {
    json.push_back(JsonOf(op->contract()));
    text += options.name.empty() ? fmt::format("{:<43} {}\n", op->name(), op->contract().doc())
                                 : TextOf(op->contract());
  }
  Print(options.format == "json" ? json.dump(2) + "\n" : text);
  return kOk;
}

}  // namespace

void AddOps(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "ops", "Lists the operators of the library, or describes one: formula, schema, shapes.");
  const auto options = std::make_shared<Options>();
  command->add_option("NAME", options->name, "Operator to describe (default: list all)");
  AddFormat(command, options->format, {"text", "json", "markdown"});
  command->footer("Example:\n  tenon ops fused_add_rms_norm");
  command->callback([options, &exit_code] { exit_code = Run(*options); });
}

}  // namespace tenon::cli
