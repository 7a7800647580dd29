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

// Completions of zsh, with its own functions replaced by ones that print.
std::string in_zsh(const std::string& words) {
  const Workspace folder;
  folder.write("ask.zsh",
               "compdef() { : }\n"
               "compadd() { shift; print -l -- \"$@\" }\n"
               "_files() { print files $@ }\n"
               "_describe() { print $2 }\n"
               "HOME=$2\n"
               "source <(\"$1\" completion zsh)\n"
               "words=(" +
                   words +
                   ")\nwords[1]=$1\nCURRENT=${#words}\n"
                   "_tenon\n");
  return run_shell("zsh -f '" + folder.path("ask.zsh").string() + "' '" TENON_PROGRAM "' '" +
                   folder.path().string() + "' 2>&1")
      .out;
}

// Completions of fish, asked the way it offers to programs.
std::string in_fish(const std::string& words) {
  const Workspace folder;
  folder.write("ask.fish",
               "set -x PATH (dirname $argv[1]) $PATH\n"
               "tenon completion fish | source\n"
               "complete -C '" +
                   words + "'\n");
  return run_shell("HOME='" + folder.path().string() + "' fish --no-config '" +
                   folder.path("ask.fish").string() + "' '" TENON_PROGRAM "' 2>&1")
      .out;
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
    CHECK(in_order(completed("tenon pl")) == std::set<std::string>{"plan", "plugins"});
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
      for (const char* whole : {"--plugin-path\n", "--trust\n", "--no-autoload\n", "--threads\n",
                                "--color\n", "--no-pager\n", "--version\n"}) {
        const size_t at = offered.find(whole);
        REQUIRE(at != std::string::npos);
        offered.erase(at, std::string(whole).size());
      }
      CAPTURE(command);
      CHECK(in_order(offered) == in_order(listed));
    }
  }

  TEST_CASE("names of ops complete") {
    CHECK(completed("tenon signature nn.functional.prel") == "nn.functional.prelu\n");
    CHECK(completed("tenon ops nn.f") == "nn.functional\n");
  }

  TEST_CASE("modules, types, plugins, topics and shells complete") {
    CHECK(completed("tenon modules Conv2") == "Conv2d\n");
    CHECK(completed("tenon show Conv2") == "Conv2d\n");
    CHECK(completed("tenon help environ") == "environment\n");
    CHECK(completed("tenon rewrites --plugin-path " TENON_FIXTURES "/rewrites rewrites.tw") ==
          "rewrites.twice\n");
    CHECK(completed("tenon completion f") == "fish\n");
    CHECK(completed("tenon --color al") == "always\n");
    CHECK(completed("tenon call layer_nor") == "\n");
    CHECK(completed("tenon call nn.functional.layer_nor") == "nn.functional.layer_norm\n");
    CHECK(completed("tenon call add x") == "compopt -o default\n\n");
  }

  TEST_CASE("zsh completes commands, options, ops and files") {
    if (run_shell("command -v zsh >/dev/null").code != 0) return;
    CHECK(in_zsh("tenon pl") == "commands\n");
    CHECK(contains(in_zsh("tenon run x.json --ep"), "--epochs\n"));
    CHECK(contains(in_zsh("tenon signature nn.functional.lin"), "nn.functional.linear\n"));
    CHECK(contains(in_zsh("tenon modules C"), "Conv2d\n"));
    CHECK(contains(in_zsh("tenon run dig"), "files -g *.(json|jsonc|tenon"));
    CHECK(in_zsh("tenon new x --dir a") == "files -/\n");
  }

  TEST_CASE("fish completes commands with their meaning, options, ops and files") {
    if (run_shell("command -v fish >/dev/null").code != 0) return;
    CHECK(in_fish("tenon pla") ==
          "plan\tPrint what a run would do: plugins, data, and the model's "
          "layers with their shapes\n");
    CHECK(contains(in_fish("tenon run x.json --ep"), "--epochs\t"));
    CHECK(in_fish("tenon signature nn.functional.prel") == "nn.functional.prelu\n");
    CHECK(in_fish("tenon modules Conv2") == "Conv2d\n");
    CHECK(in_fish("tenon --threads 2 sig") == "signature\tPrint how an op is called\n");
  }

  TEST_CASE("a config completes by files that a run can take, of the formats of plugins, too") {
    const Workspace folder;
    for (const char* name : {"a.json", "a.tenon", "a.csv", "a.toy", "b.json"})
      folder.write(name, "");
    const std::string inside = folder.path().string() + "/a";
    const auto found = in_order(completed("tenon run " + inside));
    CHECK(found.count(inside + ".json") == 1);
    CHECK(found.count(inside + ".tenon") == 1);
    CHECK(found.count(inside + ".csv") == 0);
    CHECK(found.count(inside + ".toy") == 0);
    const auto with_toy =
        in_order(completed("tenon --plugin-path " TENON_FIXTURES "/toy_models plan " + inside));
    CHECK(with_toy.count(inside + ".toy") == 1);
  }

  TEST_CASE("files and folders are left to bash") {
    CHECK(completed("tenon check --html dig") == "compopt -o default\n\n");
    CHECK(completed("tenon new x --dir a") == "compopt -o dirnames\n\n");
  }
}
