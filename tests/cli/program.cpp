// Running the program in a clean environment.
#include "program.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <stdlib.h>
#include <thread>
#include <unistd.h>

#include <sys/wait.h>

namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

Outcome run_program_in(const std::filesystem::path& folder, const std::string& arguments,
                       const std::string& environment) {
  const Workspace scratch;
  // No plugins and no settings but those of the build.
  const std::string command =
      "cd '" + folder.string() +
      "' && env -u TENON_PLUGIN_PATH -u XDG_DATA_HOME -u XDG_STATE_HOME HOME='" +
      scratch.path().string() + "' " + environment + " '" TENON_PROGRAM "' " + arguments + " 2>'" +
      scratch.path("error").string() + "'";
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  Outcome outcome;
  char block[4096];
  while (const size_t count = fread(block, 1, sizeof block, pipe)) outcome.out.append(block, count);
  const int status = pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.error = text_of(scratch.path("error"));
  return outcome;
}

Outcome run_program(const std::string& arguments, const std::string& environment) {
  return run_program_in("/", arguments, environment);
}

Workspace::Workspace(bool with_data) {
  std::string name =
      (std::filesystem::temp_directory_path() / "tenon-cli-").string() + std::string(6, 'X');
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a folder " + name);
  folder_ = name;
  if (with_data) std::filesystem::copy(TENON_TEST_DATA, folder_);
}

Workspace::~Workspace() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string Workspace::read(const std::string& name) const { return text_of(folder_ / name); }

void Workspace::write(const std::string& name, const std::string& text) const {
  std::ofstream(folder_ / name, std::ios::binary) << text;
}

RunningProgram::RunningProgram(const std::filesystem::path& folder,
                               const std::vector<std::string>& arguments)
    : folder_(folder) {
  const std::string error = output_.path("error").string();
  output_.write("error", "");
  process_ = fork();
  if (process_ != 0) return;
  const int file = open(error.c_str(), O_WRONLY | O_APPEND);
  if (file < 0 || dup2(file, STDERR_FILENO) < 0 || dup2(file, STDOUT_FILENO) < 0 ||
      chdir(folder.c_str()) != 0)
    _exit(126);
  for (const char* name : {"TENON_PLUGIN_PATH", "XDG_DATA_HOME", "XDG_STATE_HOME"}) unsetenv(name);
  setenv("HOME", output_.path().c_str(), 1);
  std::vector<char*> words = {const_cast<char*>(TENON_PROGRAM)};
  for (const std::string& argument : arguments)
    words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  execv(TENON_PROGRAM, words.data());
  _exit(127);
}

RunningProgram::~RunningProgram() { end(SIGKILL); }

bool RunningProgram::has_ended() {
  if (!ended_) ended_ = waitpid(process_, &status_, WNOHANG) == process_;
  return ended_;
}

bool RunningProgram::comes(const std::function<bool()>& there) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  while (!there()) {
    if (has_ended() || Clock::now() - begin > std::chrono::minutes(1)) return false;
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
  if (!has_ended()) {
    kill(process_, signal);
    waitpid(process_, &status_, 0);
    ended_ = true;
  }
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
