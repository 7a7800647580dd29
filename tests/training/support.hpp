// Shared code of the tests of the training library.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>

#include <doctest/doctest.h>

#include <tenon/config/config.hpp>
#include <tenon/tenon.hpp>
#include <tenon/training/training.hpp>

namespace training = tenon::training;
using tenon::Json;
using tenon::Tensor;

// The folder of the fixture `trainers` is searched for plugins.
inline void use_trainers() {
  static const bool once = [] {
    tenon::add_plugin_path(TENON_FIXTURES);
    return true;
  }();
  static_cast<void>(once);
}

// A folder that goes with the object.
class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              ("tenon_training_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return path_ / name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(file(name)) << text;
    return file(name);
  }
  std::string read(const std::string& name) const {
    std::ifstream stream(file(name));
    return {std::istreambuf_iterator<char>(stream), {}};
  }

 private:
  std::filesystem::path path_;
};

template <class Action>
std::string refusal(Action&& action) {
  try {
    action();
  } catch (const tenon::Error& error) {
    return error.what();
  }
  return "no error";
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A line of 40 points, learned by a Linear.
inline std::string line_config(const std::string& more) {
  return R"({"schema_version": 1, "seed": 5,
"data": {"type": "trainers.line", "count": 40},
"model": {"type": "Linear", "in_features": 1, "out_features": 1},
)" + more +
         "}";
}
