// Running the program in a clean environment.
#include "program.hpp"

#include <chrono>
#include <csignal>
#include <cstdint>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <thread>
#include <unistd.h>

#include <sys/wait.h>

using tenon::trust::ChildCommand;
using tenon::trust::ChildProcess;
using tenon::trust::Descriptor;

namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

int code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

ChildProcess start(const std::filesystem::path& folder, const std::vector<std::string>& arguments,
                   const Workspace& output) {
  ChildCommand command;
  command.program = TENON_PROGRAM;
  command.arguments = {TENON_PROGRAM};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  command.folder = folder;
  command.environment = {"TENON_PLUGIN_PATH", "XDG_DATA_HOME", "XDG_STATE_HOME",
                         "HOME=" + output.path().string()};
  const Descriptor file(
      ::open(output.path("error").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  command.descriptors = {{STDOUT_FILENO, file.number()}, {STDERR_FILENO, file.number()}};
  return ChildProcess(command);
}

}  // namespace

Outcome run_shell(const std::string& command) {
  ChildCommand shell;
  shell.program = "/bin/sh";
  shell.arguments = {"sh", "-c", command};
  shell.descriptors = {{STDERR_FILENO, STDERR_FILENO}};
  shell.output_kept = SIZE_MAX;
  ChildProcess child(shell);
  child.wait();
  return {code_of(child.status().value()), child.output(), ""};
}

Outcome run_program_in(const std::filesystem::path& folder, const std::string& arguments,
                       const std::string& environment) {
  const Workspace scratch;
  // No plugins and no settings but those of the build.
  Outcome outcome =
      run_shell("cd '" + folder.string() +
                "' && env -u TENON_PLUGIN_PATH -u XDG_DATA_HOME -u XDG_STATE_HOME HOME='" +
                scratch.path().string() + "' " + environment + " '" TENON_PROGRAM "' " + arguments +
                " 2>'" + scratch.path("error").string() + "'");
  outcome.error = text_of(scratch.path("error"));
  return outcome;
}

Outcome run_program(const std::string& arguments, const std::string& environment) {
  return run_program_in("/", arguments, environment);
}

Workspace::Workspace(bool with_data) {
  if (with_data) std::filesystem::copy(TENON_TEST_DATA, folder_.path());
}

std::string Workspace::read(const std::string& name) const { return text_of(folder_ / name); }

void Workspace::write(const std::string& name, const std::string& text) const {
  std::ofstream(folder_ / name, std::ios::binary) << text;
}

RunningProgram::RunningProgram(const std::filesystem::path& folder,
                               const std::vector<std::string>& arguments)
    : folder_(folder), process_(start(folder, arguments, output_)) {}

bool RunningProgram::comes(const std::function<bool()>& there) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  while (!there()) {
    if (process_.has_ended() || Clock::now() - begin > std::chrono::minutes(1)) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

bool RunningProgram::says(const std::string& part, size_t from) {
  return comes([&] { return error().find(part, from) != std::string::npos; });
}

bool RunningProgram::writes(const std::string& file, const std::string& part) {
  std::error_code none;
  const std::filesystem::path path = folder_ / file;
  const uintmax_t size = std::filesystem::file_size(path, none);
  const size_t from = none ? 0 : static_cast<size_t>(size);
  return comes([&] { return text_of(path).find(part, from) != std::string::npos; });
}

int RunningProgram::end(int signal) {
  if (!process_.has_ended()) kill(process_.number(), signal);
  process_.wait();
  return code_of(process_.status().value());
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
