// From what a program does to how it ends: errors become texts and exit codes.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace cli {

// Options of every command, for the whole process.
struct SessionOptions {
  std::vector<std::string> plugin_paths;  // the first one is searched first
  std::vector<std::string> trusted;       // paths that others may be able to change
  bool no_autoload = false;
  int threads = 0;  // 0: not asked for
};

// Also installs the load guard of tenon::trust, before any config is applied.
void apply_session(const SessionOptions& options);

// Runs `body`, prints what it throws, and returns the exit code of the program.
int run_program(const std::function<int()>& body);

}  // namespace cli
