// What others wrote reaches the terminal as text: nothing that it would obey.
#include <doctest/doctest.h>

#include "printed.hpp"
#include "program.hpp"

namespace {

// Escape, DEL, a C1 control, right-to-left override, and an isolate.
constexpr const char* kHostile = "a\\u001b[31m\x7f\xc2\x9b\xe2\x80\xae\xe2\x81\xa6z";

std::string length_field(size_t length) {
  std::string bytes(8, '\0');
  for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(length >> (8 * i));
  return bytes;
}

}  // namespace

TEST_SUITE("terminal") {
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
    CHECK(is_printable(run_program("plan \"$(printf 'a\\033[2J\\302\\233')\"").error));
    CHECK(is_printable(run_program("show \"$(printf 'a\\033[2J\\302\\233')\"").error));
    CHECK(is_printable(run_program("\"$(printf 'a\\033[2J\\302\\233')\"").error));
  }
}
