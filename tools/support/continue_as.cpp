// Becoming another program of the installation.
#include "continue_as.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <unistd.h>

#include <tenon/error.hpp>

#include "format.hpp"

namespace cli {

void continue_as(const std::string& program, const std::string& target, const std::string& mode,
                 std::vector<std::string> words) {
  const std::filesystem::path path =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / program;
  words.insert(words.begin(), {program, mode});
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::fflush(stdout);
  execv(path.c_str(), pointers.data());
  const int fault = errno;
  if (fault == ENOENT)
    throw tenon::IOError(format_text(
        "the program '{}' is not there; build it with `cmake --build build --target {}`, as "
        "tools/test does, or install Tenon with it",
        path.string(), target));
  throw tenon::IOError(
      format_text("cannot start the program '{}': {}", path.string(), std::strerror(fault)));
}

}  // namespace cli
