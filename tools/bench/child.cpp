// Starting processes.
#include "child.hpp"

#include <spawn.h>
#include <stdexcept>
#include <unistd.h>

#include <sys/wait.h>

#include "bench.hpp"

namespace bench {

ChildResult run_child(const std::vector<std::string>& command,
                      const std::vector<std::string>& environment) {
  std::vector<char*> arguments, variables;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  for (const std::string& word : environment) variables.push_back(const_cast<char*>(word.c_str()));
  for (char** variable = environ; *variable != nullptr; ++variable) variables.push_back(*variable);
  arguments.push_back(nullptr);
  variables.push_back(nullptr);

  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("cannot make a pipe for " + command[0]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);

  ChildResult result;
  const Stopwatch watch;
  pid_t child = 0;
  const int fault =
      posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  char buffer[65536];
  for (ssize_t got = 0; fault == 0 && (got = read(ends[0], buffer, sizeof buffer)) > 0;) {
    result.output.append(buffer, static_cast<size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  if (fault == 0) waitpid(child, &status, 0);
  result.seconds = watch.seconds();
  if (fault != 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw std::runtime_error("'" + command[0] + "' failed");
  }
  return result;
}

double timed_child(const std::vector<std::string>& command,
                   const std::vector<std::string>& environment) {
  return std::stod(run_child(command, environment).output) * 1e-9;
}

}  // namespace bench
