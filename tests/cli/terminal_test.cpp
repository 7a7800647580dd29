// Foreign text reaches the terminal as text, without control sequences that it would obey.
#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "printed.hpp"
#include "program.hpp"
#include "tools/support/text.hpp"

namespace {

// Escape, DEL, a C1 control, right-to-left override, and an isolate.
constexpr const char* kHostile = "a\\u001b[31m\x7f\xc2\x9b\xe2\x80\xae\xe2\x81\xa6z";

std::string length_field(size_t length) {
  std::string bytes(8, '\0');
  for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(length >> (8 * i));
  return bytes;
}

// Output of the program on a terminal of a width, one with colours unless another is named, without a pager
// unless one is named.
std::string shown(const std::vector<std::string>& arguments, const std::string& type = "xterm",
                  int columns = 80, const std::string& pager = "") {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE(grantpt(terminal) == 0);
  REQUIRE(unlockpt(terminal) == 0);
  const int side = open(ptsname(terminal), O_RDWR | O_NOCTTY);
  winsize size{};
  size.ws_row = 25;
  size.ws_col = static_cast<unsigned short>(columns);
  ioctl(terminal, TIOCSWINSZ, &size);
  const std::string term = "TERM=" + type, paged = "TENON_PAGER=" + pager;
  std::vector<const char*> list{"env",     "-u",         "NO_COLOR",    "-u",
                                "COLUMNS", term.c_str(), paged.c_str(), TENON_PROGRAM};
  for (const std::string& argument : arguments) list.push_back(argument.c_str());
  list.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(side, 1);
    dup2(side, 2);
    execvp("env", const_cast<char* const*>(list.data()));
    _exit(127);
  }
  close(side);
  std::string text;
  char block[4096];
  for (ssize_t count = 0; (count = read(terminal, block, sizeof block)) > 0;)
    text.append(block, static_cast<size_t>(count));
  close(terminal);
  waitpid(child, nullptr, 0);
  return text;
}

int64_t longest_line(const std::string& text) {
  int64_t most = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of("\r\n", at), text.size());
    most = std::max(most, cli::display_width(text.substr(at, end - at)));
    at = end + 1;
  }
  return most;
}

}  // namespace

TEST_SUITE("terminal") {
  TEST_CASE("bytes that are not UTF-8 are shown as escapes, and give no colour") {
    const std::string expected = "\033[1mtenon\033[0m: ";
    for (int byte = 0x80; byte <= 0xFF; ++byte) {
      const std::string name = "a" + std::string(1, static_cast<char>(byte)) + "b";
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned>(byte));
      const std::string text = shown({name});
      CAPTURE(text);
      CHECK(contains(text, expected));
      CHECK(contains(text, std::string("a") + escape + "b'"));
      CHECK(contains(text.substr(expected.size()), "\033") == false);
    }
    CHECK(contains(shown({"show", "a\xf9z"}), "a\\xf9z"));
  }

  TEST_CASE("a dumb terminal gets no escapes") {
    const Workspace folder(true);
    const std::string config = folder.path("blobs.json");
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"plan", config}, {"show", "nosuch"}, {"run", config}}) {
      CAPTURE(command.front());
      CHECK(contains(shown(command), "\033["));
      CHECK_FALSE(contains(shown(command, "dumb"), "\033"));
    }
  }

  TEST_CASE("a listing fits the terminal, however narrow") {
    for (const int columns : {30, 60, 80, 132}) {
      for (const std::vector<std::string>& command :
           {std::vector<std::string>{"ops"}, {"modules"}, {"show", "conv2d"}, {"show", "nn.*"}}) {
        const std::string text = shown(command, "dumb", columns);
        CAPTURE(columns);
        CAPTURE(command.front());
        CHECK(longest_line(text) <= columns);
        CHECK(text.size() > 100);
      }
    }
  }

  TEST_CASE(
      "a terminal has a pager for listings, unless --no-pager or a dumb terminal forbids it") {
    const std::string pager = "sed 's/^/paged /'";
    CHECK(contains(shown({"ops", "conv2d"}, "xterm", 80, pager), "paged   conv2d(input"));
    CHECK(contains(shown({"ops", "conv2d"}, "xterm", 80, pager), "paged   \033[1mOP"));
    CHECK(contains(shown({"show", "add"}, "xterm", 80, pager), "paged "));
    CHECK(contains(shown({"help", "types"}, "xterm", 80, pager), "paged "));
    CHECK_FALSE(contains(shown({"--no-pager", "ops"}, "xterm", 80, pager), "paged "));
    CHECK_FALSE(contains(shown({"ops"}, "dumb", 80, pager), "paged "));
    CHECK_FALSE(contains(shown({"ops", "--json"}, "xterm", 80, pager), "paged "));
    CHECK_FALSE(contains(run_program("ops", "PAGER=\"" + pager + "\"").out, "paged "));
    // Listings are printed where the pager is not installed.
    CHECK(contains(shown({"ops", "conv2d"}, "xterm", 80, "nosuchpager -x"), "conv2d(input"));
    // A reader who has seen enough ends nothing with a fault.
    CHECK_FALSE(contains(shown({"ops"}, "xterm", 80, "head -n 1"), "written"));
  }

  TEST_CASE("--color decides, then NO_COLOR, then the terminal") {
    CHECK(contains(run_program("--color always ops conv2d").out, "\033[1m"));
    CHECK(contains(run_program("ops conv2d --color=always", "NO_COLOR=1").out, "\033[1m"));
    CHECK_FALSE(contains(run_program("ops conv2d").out, "\033"));
    CHECK_FALSE(contains(shown({"--color", "never", "ops", "conv2d"}), "\033"));
    CHECK(contains(shown({"--color", "auto", "ops", "conv2d"}), "\033[1m"));
  }

  TEST_CASE("the title of a learning curve is text that XML can hold") {
    const Workspace folder(true);
    std::filesystem::copy_file(folder.path("blobs.json"), folder.path("a\033\371&.json"));
    const Outcome outcome =
        run_program_in(folder.path(), "run \"$(printf 'a\\033\\371&.json')\" -q --plot c.svg");
    CHECK(outcome.code == 0);
    CHECK(contains(folder.read("c.svg"), "<title>a\\x1b\\xf9&amp;.json</title>"));
    CHECK(is_printable(folder.read("c.svg")));
  }

  TEST_CASE("keys, values and paths of a config") {
    const Workspace folder(true);
    const std::string hostile = kHostile;
    for (const std::string& config : {
             R"({"schema_version": 1, ")" + hostile + R"(": 1})",
             R"({"schema_version": 1, "types": {")" + hostile + R"(": 3}})",
             R"({"schema_version": 1, "plugins": [")" + hostile + R"("]})",
             R"({"schema_version": 1, "plugins": ["./)" + hostile + R"(.so"]})",
             R"({"schema_version": 1, "data": {"path": ")" + hostile + R"(", "format": "csv"}})",
             R"({"schema_version": 1, "model": {"type": "Linear", ")" + hostile + R"(": 1}})",
             R"({"schema_version": 1, "model": {"type": "Linear", "in_features": ")" + hostile +
                 R"(", "out_features": 1}})",
             R"({"schema_version": 1, )" + std::string("\xe2\x80\xae") + "}",
         }) {
      CAPTURE(config);
      folder.write("c.json", config);
      const Outcome outcome = run_program_in(folder.path(), "plan c.json");
      CHECK(outcome.code == 1);
      CHECK(is_printable(outcome.error));
      CHECK(is_printable(outcome.out));
      const Outcome json = run_program_in(folder.path(), "plan c.json --json");
      CHECK(is_printable(json.out + json.error));
      if (!json.out.empty()) CHECK(json.json()["faults"].size() >= 1);
    }
    // A line break in a key does not start a line.
    folder.write("c.json", "{\"schema_version\": 1, \"a\\nno faults found\": 1}");
    CHECK_FALSE(contains(run_program_in(folder.path(), "plan c.json").error, "\nno faults found"));
  }

  TEST_CASE("names of tensors, and of files") {
    const Workspace folder(true);
    const std::string header = "{\"" + std::string(kHostile) + "\":3}";
    folder.write("w.safetensors", length_field(header.size()) + header);
    const Outcome outcome =
        run_program_in(folder.path(), "run blobs.json --evaluate w.safetensors");
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error, "\\x1b[31m\\x7f\\u009b\\u202e"));
    CHECK(is_printable(outcome.error));
    std::string config = folder.read("blobs.json");
    const std::string name = "\"blobs.safetensors\"";
    config.replace(config.find(name), name.size(),
                   name + ", \"checkpoint\": \"" + kHostile + ".ck\"");
    folder.write("c.json", config);
    const Outcome resumed = run_program_in(folder.path(), "run c.json -q --epochs 1 --resume");
    CHECK(contains(resumed.error, "no checkpoint"));
    CHECK(is_printable(resumed.error));
    CHECK(is_printable(run_program("plan \"$(printf 'a\\033[2J\\302\\233')\"").error));
    CHECK(is_printable(run_program("show \"$(printf 'a\\033[2J\\302\\233')\"").error));
    CHECK(is_printable(run_program("\"$(printf 'a\\033[2J\\302\\233')\"").error));
  }
}
