// The subcommands of `tenon`, one file each. A subcommand parses its flags, calls the layer that
// does the work, and prints.
#pragma once

#include <CLI/CLI.hpp>
#include <string_view>

namespace tenon::cli {

enum ExitCode : int {
  kOk = 0,
  kFailed = 1,    // a check or an expectation failed
  kUsage = 2,     // the caller can fix it; one sentence on standard error says how
  kInternal = 3,  // a bug of Tenon's
};

// Each adds one subcommand, whose callback sets `exit_code`.
void AddBench(CLI::App& app, int& exit_code);
void AddCache(CLI::App& app, int& exit_code);
void AddDoctor(CLI::App& app, int& exit_code);
void AddAnalyze(CLI::App& app, int& exit_code);
void AddFuse(CLI::App& app, int& exit_code);
void AddOps(CLI::App& app, int& exit_code);
void AddProfile(CLI::App& app, int& exit_code);
void AddRun(CLI::App& app, int& exit_code);

// Prints to standard output.
void Print(std::string_view text);

}  // namespace tenon::cli
