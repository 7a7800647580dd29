// Runs the built program the way a user does.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <tenon/json.hpp>
#include <tenon/trust/child_process.hpp>

#include "tests/support/temporary_folder.hpp"

struct Outcome {
  int code = 0;
  std::string out, error;
  tenon::Json json() const { return tenon::Json::parse(out); }
};

// Arguments as the shell reads them; `environment` is "NAME=value ...".
Outcome run_program(const std::string& arguments, const std::string& environment = "");
// A command of the shell.
Outcome run_shell(const std::string& command);
// Runs the program in a folder.
Outcome run_program_in(const std::filesystem::path& folder, const std::string& arguments,
                       const std::string& environment = "");

// A folder for one test, deleted afterwards. Holds a copy of tests/cli/data when asked.
class Workspace {
 public:
  explicit Workspace(bool with_data = false);
  std::filesystem::path path(const std::string& name = "") const { return folder_ / name; }
  std::string read(const std::string& name) const;
  void write(const std::string& name, const std::string& text) const;

 private:
  tenon_test::TemporaryFolder folder_;
};

// A program that runs while the test continues, in a folder, without plugins and settings but those of
// the build. Killed at the end of its scope.
class RunningProgram {
 public:
  RunningProgram(const std::filesystem::path& folder, const std::vector<std::string>& arguments);
  // Its standard error so far.
  std::string error() const { return output_.read("error"); }
  // Whether that has the part, at or after the byte `from`, within a minute and before the end.
  bool says(const std::string& part, size_t from = 0);
  // Whether it adds the part to a file of its folder from now on.
  bool writes(const std::string& file, const std::string& part);
  // Sends the signal, and waits. The exit code, or 128 and the signal that ended it.
  int end(int signal);

 private:
  bool comes(const std::function<bool()>& there);

  const std::filesystem::path folder_;
  Workspace output_;
  tenon::trust::ChildProcess process_;
};

bool contains(const std::string& text, const std::string& part);
