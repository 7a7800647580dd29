// Bash completion, asked the way bash asks it.
#include <cstdio>

#include <doctest/doctest.h>

#include "program.hpp"

namespace {

// Completions of the last of `words`.
std::string completed(const std::string& words) {
  const Workspace folder;
  folder.write("ask.bash",
               "export PATH=${1%/*}:$PATH HOME=$2\n"
               "compopt() { echo \"compopt $*\"; }\n"
               "source '" TENON_COMPLETION
               "'\n"
               "COMP_WORDS=(" +
                   words +
                   ")\n"
                   "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
                   "_tenon\n"
                   "printf '%s\\n' \"${COMPREPLY[@]}\"\n");
  const std::string command = "bash '" + folder.path("ask.bash").string() +
                              "' '" TENON_PROGRAM "' '" + folder.path().string() + "' 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  char block[4096];
  while (const size_t count = fread(block, 1, sizeof block, pipe)) text.append(block, count);
  CHECK(pclose(pipe) == 0);
  return text;
}

}  // namespace

TEST_SUITE("completion") {
  TEST_CASE("commands complete") {
    CHECK(completed("tenon pl") == "plan\nplugins\n");
    CHECK(completed("tenon --threads 2 sig") == "signature\n");
  }

  TEST_CASE("options of a command complete") {
    CHECK(completed("tenon run x.json --e") == "--evaluate\n--epochs\n");
    CHECK(completed("tenon overridable --f") == "--first\n");
  }

  TEST_CASE("names of ops complete") {
    CHECK(completed("tenon signature nn.functional.lin") == "nn.functional.linear\n");
    CHECK(completed("tenon ops nn.f") == "nn.functional\n");
  }

  TEST_CASE("files and folders are left to bash") {
    CHECK(completed("tenon run dig") == "compopt -o default\n\n");
    CHECK(completed("tenon new x --dir a") == "compopt -o dirnames\n\n");
  }
}
