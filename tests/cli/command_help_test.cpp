// tenon help, tenon alone, and the help and manual page of each command.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "program.hpp"
#include "tools/support/text.hpp"

namespace {

std::vector<std::string> lines_of_output(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

void check_width(const std::string& text, int64_t columns) {
  for (const std::string& line : lines_of_output(text)) {
    CAPTURE(line);
    CHECK(cli::display_width(line) <= columns);
  }
}

std::vector<std::string> commands() {
  return lines_of_output(run_program("help --names --man").out);
}

// Names in quotes of environment variables in the sources: those of Tenon and of the XDG folders.
std::set<std::string> variables_in_sources() {
  std::set<std::string> names;
  for (const char* room : {"core", "sdk/include", "sdk/lib", "plugins", "tools/cli", "tools/check",
                           "tools/catalogue", "tools/support"}) {
    const std::filesystem::path folder = std::filesystem::path(TENON_SOURCES) / room;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      const std::string ending = entry.path().extension().string();
      if (ending != ".cpp" && ending != ".hpp") continue;
      std::ifstream file(entry.path());
      const std::string text((std::istreambuf_iterator<char>(file)), {});
      for (const char* beginning : {"\"TENON_", "\"XDG_"}) {
        for (size_t at = text.find(beginning); at != text.npos; at = text.find(beginning, at + 1)) {
          const size_t end = text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_", at + 1);
          if (end != text.npos && text[end] == '"') names.insert(text.substr(at + 1, end - at - 1));
        }
      }
    }
  }
  // Names of constants in the listing of services.
  for (auto name = names.begin(); name != names.end();)
    name = name->rfind("TENON_HOOK_", 0) == 0 ? names.erase(name) : std::next(name);
  return names;
}

}  // namespace

TEST_SUITE("help") {
  TEST_CASE("the topic environment has every variable that the sources read") {
    const std::string text = run_program("help environment").out;
    const std::set<std::string> names = variables_in_sources();
    CHECK(names.size() >= 14);
    for (const std::string& name : names) CHECK_MESSAGE(contains(text, "  " + name), name);
  }

  TEST_CASE("tenon alone prints what people do first, and ends with 1") {
    const Outcome outcome = run_program("");
    CHECK(outcome.code == 1);
    CHECK(outcome.error.empty());
    int64_t steps = 0;
    for (const std::string& line : lines_of_output(outcome.out))
      steps += line.rfind("  tenon ", 0) == 0 ? 1 : 0;
    CHECK(steps == 5);
    check_width(outcome.out, 80);
  }

  TEST_CASE("the help of each command, with its examples, is at most 80 columns wide") {
    CHECK(commands().size() > 25);
    check_width(run_program("--help").out, 80);
    for (const std::string& command : commands()) {
      CAPTURE(command);
      const Outcome outcome = run_program(command + " --help");
      CHECK(outcome.code == 0);
      check_width(outcome.out, 80);
      CHECK(contains(outcome.out, "\nExamples:\n  tenon "));
      CHECK(contains(run_program("help " + command).out, outcome.out));
      check_width(run_program(command + " --help", "COLUMNS=50").out, 80);
    }
  }

  TEST_CASE("each topic has a page of at most 80 columns") {
    for (const char* topic :
         {"configs", "schemas", "types", "environment", "output", "exit-codes"}) {
      CAPTURE(topic);
      const Outcome outcome = run_program(std::string("help ") + topic, "COLUMNS=80");
      CHECK(outcome.code == 0);
      CHECK(lines_of_output(outcome.out).size() > 5);
      check_width(run_program(std::string("help ") + topic).out, 80);
      check_width(outcome.out, 80);
      CHECK(contains(run_program("help").out, topic));
    }
  }

  TEST_CASE("a topic that is named like a command is above the help of the command") {
    const std::string page = run_program("help types").out;
    CHECK(page.rfind("Tensor types, dtypes, and how calls choose\n", 0) == 0);
    CHECK(contains(page, run_program("types --help").out));
    CHECK(contains(run_program("help").out, "  types "));
  }

  TEST_CASE("help lists the commands under headings, each once") {
    const std::string help = run_program("--help").out;
    for (const char* heading :
         {"\nLook around:\n", "\nModels and training:\n", "\nWrite plugins:\n"})
      CHECK(contains(help, heading));
    for (const std::string& command : commands()) {
      const std::string row = "\n  " + command + " ";
      CAPTURE(command);
      CHECK(contains(help, row));
      CHECK(help.find(row) == help.rfind(row));
    }
  }

  TEST_CASE("an unknown topic, command, option or shell suggests one, and ends with 2") {
    const std::pair<const char*, const char*> typings[] = {
        {"help exit-code",
         "no topic and no command is named 'exit-code' (did you mean 'exit-codes'?)"},
        {"help exit", "no topic and no command is named 'exit' (did you mean 'exit-codes'?)"},
        {"shwo", "unknown command 'shwo' (did you mean 'show'?)"},
        {"compl bash", "unknown command 'compl' (did you mean 'completion'?)"},
        {"ops --plugin build", "unknown option '--plugin' (did you mean '--plugin-path'?)"},
        {"ops --json=3", "--json takes no value"},
        {"--threads", "--threads needs a value"},
        {"ops --wid", "unknown option '--wid' (did you mean '--wide'?)"},
        {"completion fsh", "no completion of the shell 'fsh' (did you mean 'fish'?)"},
        {"--color alwais ops", "--color: found 'alwais' (did you mean 'always'?)"}};
    for (const auto& [arguments, message] : typings) {
      const Outcome outcome = run_program(arguments);
      CAPTURE(outcome.error);
      CHECK(outcome.code == 2);
      CHECK(contains(outcome.error, message));
    }
  }

  TEST_CASE("the manual page of each command has its arguments, options and examples") {
    for (const std::string& command : commands()) {
      CAPTURE(command);
      const std::string page = run_program("help --man " + command).out;
      CHECK(contains(page, ".SH NAME\n"));
      CHECK(contains(page, ".SH EXAMPLES\n.nf\ntenon "));
    }
    const std::string run = run_program("help --man run").out;
    CHECK(contains(run, ".B CONFIG\n"));
    CHECK(contains(run, "\\-\\-epochs N\n"));
    for (const std::string& command : commands())
      CHECK(contains(run_program("help --man").out, ".BR tenon\\-" + command));
    // A name that begins a line with a dot would be a request.
    for (const std::string& line : lines_of_output(run)) {
      if (line.rfind('.', 0) == 0) CHECK(line.size() > 2);
    }
  }

  TEST_CASE("a word like a command is an argument behind one") {
    CHECK(contains(run_program("show run").error, "is named 'run'"));
    CHECK(contains(run_program("ops new").error, "no op matches 'new'"));
  }
}
