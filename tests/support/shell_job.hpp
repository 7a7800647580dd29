// Runs a command of the shell, and has what it printed.
#pragma once

#include <array>
#include <cstdio>
#include <string>

#include <doctest/doctest.h>
#include <sys/wait.h>

struct ShellJob {
  int code = 0;  // 128 and more: the signal that ended it
  std::string text;
  bool says(const std::string& part) const { return text.find(part) != std::string::npos; }
};

inline ShellJob run_shell_job(const std::string& command) {
  FILE* pipe = popen((command + " 2>/dev/null").c_str(), "r");
  REQUIRE(pipe != nullptr);
  ShellJob job;
  std::array<char, 4096> block{};
  while (const size_t count = fread(block.data(), 1, block.size(), pipe))
    job.text.append(block.data(), count);
  const int status = pclose(pipe);
  job.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return job;
}
