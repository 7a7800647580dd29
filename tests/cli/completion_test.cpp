// Bash completion, asked the way bash asks it.
#include <set>
#include <sstream>
#include <string>

#include <doctest/doctest.h>

#include "program.hpp"

namespace {

// Completions of the last of `words`.
std::string completed(const std::string& words) {
  const Workspace folder;
  folder.write("ask.bash",
               "export PATH=${1%/*}:$PATH HOME=$2\n"
               "compopt() { echo \"compopt $*\"; }\n"
               "source <(\"$1\" completion bash)\n"
               "COMP_WORDS=(" +
                   words +
                   ")\n"
                   "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
                   "_tenon\n"
                   "printf '%s\\n' \"${COMPREPLY[@]}\"\n");
  const Outcome outcome = run_shell("bash '" + folder.path("ask.bash").string() +
                                    "' '" TENON_PROGRAM "' '" + folder.path().string() + "' 2>&1");
  CHECK(outcome.code == 0);
  return outcome.out;
}

std::set<std::string> in_order(const std::string& lines) {
  std::istringstream stream(lines);
  std::set<std::string> set;
  for (std::string line; std::getline(stream, line);) set.insert(line);
  return set;
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

  TEST_CASE("each option that help lists completes, and no other") {
    for (const char* command : {"docs", "run", "check", "plugins", "schema", "wrappers"}) {
      std::istringstream lines(run_program(std::string(command) + " --help").out);
      std::string listed;
      for (std::string line; std::getline(lines, line);) {
        const size_t begin = line.find("--");
        if (line.rfind("  -", 0) == 0 && begin < 6)
          listed += line.substr(begin, line.find_first_of(" ,", begin) - begin) + "\n";
      }
      std::string offered = completed("tenon " + std::string(command) + " --");
      for (const char* whole :
           {"--plugin-path\n", "--trust\n", "--no-autoload\n", "--threads\n", "--version\n"}) {
        const size_t at = offered.find(whole);
        REQUIRE(at != std::string::npos);
        offered.erase(at, std::string(whole).size());
      }
      CAPTURE(command);
      CHECK(in_order(offered) == in_order(listed));
    }
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
