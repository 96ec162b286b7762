#include <cstdio>
#include <exception>

#include "base/error.h"
#include "cli/command.h"

namespace tenon::cli {

void Print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  TENON_CHECK(std::fflush(stdout) == 0, "cannot write to standard output");
}

namespace {

constexpr const char* kDescription =
    "Tenon: fused operators for LLM inference, a compiler that makes them, and an analyser that\n"
    "finds where a model could use them.";
constexpr const char* kFooter =
    "Exit codes: 0 done, 1 a check or an expectation failed, 2 usage or input at fault, 3 "
    "internal\n"
    "error. `tenon COMMAND --help` describes each command with an example.";

int Complain(std::string_view sentence, int exit_code) {
  fmt::print(stderr, "tenon: {}\n", sentence);
  return exit_code;
}

int Main(int argc, char** argv) {
  CLI::App app(kDescription, "tenon");
  app.footer(kFooter);
  app.set_version_flag("--version", "tenon " TENON_VERSION);
  app.require_subcommand(1);
  int exit_code = kOk;
  AddAnalyze(app, exit_code);
  AddFuse(app, exit_code);
  AddOps(app, exit_code);
  AddRun(app, exit_code);
  AddBench(app, exit_code);
  AddProfile(app, exit_code);
  AddCache(app, exit_code);
  AddDoctor(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    return Complain(fmt::format("{} (`tenon --help` lists commands and flags)", error.what()),
                    kUsage);
  } catch (const UsageError& error) {
    return Complain(error.what(), kUsage);
  } catch (const std::exception& error) {
    return Complain(fmt::format("internal error: {}", error.what()), kInternal);
  }
  return exit_code;
}

}  // namespace
}  // namespace tenon::cli

int main(int argc, char** argv) { return tenon::cli::Main(argc, argv); }
