// Flag values that several subcommands take.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"

namespace tenon::cli {

// `--format`: the value must be one of `formats`, the first one being the default.
void AddFormat(CLI::App* command, std::string& format, const std::vector<std::string>& formats);

// `text` is NAME=VALUE. UsageError that names the flag.
std::pair<std::string, std::string> SplitPair(const std::string& text, std::string_view flag);
int64_t ParseInteger(const std::string& text, std::string_view flag);
double ParseReal(const std::string& text, std::string_view flag);

// A type that values are stored in: f32, f16 or bf16, or torch's name of one.
DType ParseStorage(const std::string& text, std::string_view flag);

}  // namespace tenon::cli
