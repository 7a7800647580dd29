// Running the program in a clean environment.
#include "program.hpp"

#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <stdlib.h>

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

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
