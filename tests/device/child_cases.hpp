// Cases that run in a child process, which has other variables than this one.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include <sys/wait.h>

#include <tenon/tenon.hpp>

template <class Body>
std::string error_of(Body&& body) {
  try {
    body();
  } catch (const tenon::Error& error) {
    return error.what();
  }
  return "";
}
inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The exit status of this program as a child that runs one case, with these variables before it.
inline int run_case(const std::string& name, const std::string& variables) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command =
      variables + " TENON_TEST_CHILD=1 '" + program + "' -tc=\"" + name + "\" > /dev/null 2>&1";
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
inline bool is_child() { return std::getenv("TENON_TEST_CHILD") != nullptr; }
