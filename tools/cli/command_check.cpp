// tenon check: continues as the program tenon-check, so that a job that checks nothing needs no checker.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <unistd.h>

#include <tenon/error.hpp>

#include "check/options.hpp"
#include "commands.hpp"
#include "format.hpp"

namespace cli {

namespace fs = std::filesystem;

int check_plugin(const CheckOptions& options) {
  const fs::path checker = fs::read_symlink("/proc/self/exe").parent_path() / "tenon-check";
  std::vector<std::string> words = words_of(options);
  words.insert(words.begin(), {"tenon-check", "check"});
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  // In the same process, so that signals, debuggers and the caller see the check itself.
  std::fflush(stdout);
  execv(checker.c_str(), pointers.data());
  const int fault = errno;
  if (fault == ENOENT) {
    throw tenon::IOError(
        format_text("the checker '{}' is not there; build it with `cmake --build build --target "
                    "tenon_check`, as "
                    "tools/test does, or install Tenon with it",
                    checker.string()));
  }
  throw tenon::IOError(
      format_text("cannot start the checker '{}': {}", checker.string(), std::strerror(fault)));
}

}  // namespace cli
