// Runs the built program the way a user does.
#pragma once

#include <filesystem>
#include <string>

#include <tenon/json.hpp>

struct Outcome {
  int code = 0;
  std::string out, error;
  tenon::Json json() const { return tenon::Json::parse(out); }
};

// Arguments as the shell reads them; `environment` is "NAME=value ...".
Outcome run_program(const std::string& arguments, const std::string& environment = "");
// The same in a folder.
Outcome run_program_in(const std::filesystem::path& folder, const std::string& arguments,
                       const std::string& environment = "");

// A folder for one test, deleted afterwards. Holds a copy of tests/cli/data when asked.
class Workspace {
 public:
  explicit Workspace(bool with_data = false);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  std::filesystem::path path(const std::string& name = "") const { return folder_ / name; }
  std::string read(const std::string& name) const;
  void write(const std::string& name, const std::string& text) const;

 private:
  std::filesystem::path folder_;
};

bool contains(const std::string& text, const std::string& part);
