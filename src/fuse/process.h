// Runs a program and waits for it.
#pragma once

#include <string>
#include <vector>

namespace tenon::fuse {

struct ProcessResult {
  bool started = false;  // false: no such program
  int exit_code = -1;
  std::string output;  // standard output and error together
};

// argv[0] is searched in PATH unless it holds a slash. No shell is involved.
ProcessResult RunProcess(const std::vector<std::string>& argv);

}  // namespace tenon::fuse
