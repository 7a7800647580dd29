// Listings: patterns, internal ops, widths, and what pipes get.
#include <algorithm>
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

int64_t longest(const std::string& text) {
  int64_t most = 0;
  for (const std::string& line : lines_of_output(text))
    most = std::max(most, cli::display_width(line));
  return most;
}

std::vector<std::string> names(const std::string& arguments) {
  const Outcome outcome = run_program(arguments + " --names");
  CHECK(outcome.code == 0);
  return lines_of_output(outcome.out);
}

bool has(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

TEST_SUITE("listings") {
  TEST_CASE("a word finds the names that it is part of, in any case") {
    const std::vector<std::string> found = names("ops CONV2");
    CHECK(has(found, "nn.functional.conv2d"));
    CHECK(has(found, "nn.functional.deform_conv2d"));
    CHECK_FALSE(has(found, "add"));
    CHECK(has(names("modules conv"), "Conv2d"));
  }

  TEST_CASE("a namespace takes precedence over a word, and wildcards over both") {
    for (const std::string& name : names("ops optim")) CHECK(name.rfind("optim.", 0) == 0);
    for (const std::string& name : names("ops nn")) CHECK(name.rfind("nn.", 0) == 0);
    const std::vector<std::string> pools = names("ops 'max_pool[12]d'");
    CHECK(pools ==
          std::vector<std::string>{"nn.functional.max_pool1d", "nn.functional.max_pool2d"});
    CHECK(names("ops 'nn.functional.max_pool?d'").size() == 3);
  }

  TEST_CASE("a pattern that matches nothing says so, suggests, and ends with 1") {
    const Outcome typing = run_program("ops nn.functionl");
    CHECK(typing.code == 1);
    CHECK(contains(typing.error, "no op matches 'nn.functionl' (did you mean 'nn.functional'?)"));
    CHECK(run_program("modules nosuch").code == 1);
    CHECK(run_program("ops 'zz*' --json").code == 1);
    CHECK(run_program("plugins nosuch").code == 1);
    CHECK(contains(run_program("show 'zz*'").error,
                   "no op, plugin, module, type or rewrite matches 'zz*'"));
  }

  TEST_CASE("internal ops are listed and found by --all alone") {
    const std::vector<std::string> listed = names("ops"), all = names("ops --all");
    CHECK(has(all, "nn.grad.layer_norm"));
    CHECK(has(all, "relu_backward"));
    for (const std::string& name : listed) {
      CHECK_FALSE(contains(name, ".grad."));
      CHECK_FALSE(contains(name, "_backward"));
      CHECK(has(all, name));
    }
    CHECK(run_program("show layer_norm").code == 0);
    CHECK(run_program("signature layer_norm").code == 0);
    const Outcome hidden = run_program("show avg_pool");
    CHECK(hidden.code == 1);
    CHECK(contains(hidden.error, "`--all` finds the internal op nn.grad.avg_pool"));
    CHECK(run_program("show avg_pool --all").code == 0);
    CHECK(run_program("show nn.grad.avg_pool").code == 0);
    CHECK(contains(run_program("ops nn.grad").error, "only internal ops match 'nn.grad'"));
  }

  TEST_CASE("a pattern of show lists what it matches, of every kind") {
    const Outcome outcome = run_program("show 'Conv2*' --json");
    const tenon::Json list = outcome.json();
    REQUIRE(list.size() == 1);
    CHECK(list[0]["kind"].text() == "module");
    CHECK(contains(run_program("show 'nn.functional.gel?'").out, "nn.functional.gelu  op"));
  }

  TEST_CASE("each row is a line in a pipe, and with --wide; else listings have a width") {
    const std::string wide = run_program("ops").out;
    CHECK(longest(wide) > 100);
    CHECK(static_cast<size_t>(std::count(wide.begin(), wide.end(), '\n')) >=
          names("ops").size() + 1);
    CHECK(run_program("ops --wide", "COLUMNS=40").out == wide);
    for (const int columns : {20, 40, 60, 80, 120}) {
      for (const char* command : {"ops", "modules", "types", "ignored", "plugins", "show conv2d",
                                  "show math", "show 'nn.*'", "overridable nn.functional"}) {
        CAPTURE(command);
        CAPTURE(columns);
        const std::string text = run_program(command, "COLUMNS=" + std::to_string(columns)).out;
        CHECK_FALSE(text.empty());
        if (columns >= 60) CHECK(longest(text) <= columns);
      }
    }
  }

  TEST_CASE(
      "providers of one op share a row where lines have a width, and have one each elsewhere") {
    const std::string found = "--plugin-path " TENON_FIXTURES "/ranked ops ranked";
    const std::vector<std::string> fitted = lines_of_output(run_program(found, "COLUMNS=80").out);
    CHECK(std::any_of(fitted.begin(), fitted.end(), [](const std::string& line) {
      return contains(line, "ranked_flat, ") && contains(line, "ranked_small");
    }));
    const std::vector<std::string> rows = lines_of_output(run_program(found).out);
    CHECK(std::count_if(rows.begin(), rows.end(), [](const std::string& line) {
            return line.rfind("ranked.who ", 0) == 0;
          }) > 1);
  }

  TEST_CASE("a narrow listing has each name above its other columns") {
    const std::vector<std::string> lines =
        lines_of_output(run_program("ops relu", "COLUMNS=50").out);
    REQUIRE(lines.size() > 5);
    CHECK(lines[0] == "  OP");
    CHECK(lines[1].rfind("      PLUGIN ", 0) == 0);
    const auto name = std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
      return line.rfind("  leaky_relu(", 0) == 0;
    });
    REQUIRE(name != lines.end());
    const auto behind = std::find_if(name, lines.end(), [](const std::string& line) {
      return line.rfind("      nn  ", 0) == 0 || line.rfind("      math  ", 0) == 0;
    });
    CHECK(behind - name <= 2);
  }

  TEST_CASE("bench measures the model of a config, whose inputs have the sizes that are given") {
    const Workspace folder;
    folder.write("m.json", R"({"schema_version": 1, "model":
        {"type": "Linear", "in_features": 2, "out_features": 3}})");
    const tenon::Json result =
        run_program_in(folder.path(), "bench m.json --input input=4x2 --calls 3 --json").json();
    CHECK(result["calls"].integer() == 3);
    CHECK(result["prepared"].as_bool());
    const Outcome table =
        run_program_in(folder.path(), "bench m.json --input input=4x2 --calls 3", "COLUMNS=80");
    CHECK(longest(table.out) <= 80);
    CHECK(contains(table.out, "PER SECOND"));
  }

  TEST_CASE("a width groups names by namespace, without losing one") {
    const std::string text = run_program("ops", "COLUMNS=100").out;
    CHECK(contains(text, "\nnn.functional\n"));
    CHECK(contains(text, "\n  conv2d(input, weight"));
    const std::vector<std::string> lines = lines_of_output(text);
    for (const std::string& name : names("ops")) {
      const std::string row = "  " + name.substr(name.rfind('.') + 1) + "(";
      CHECK(std::any_of(lines.begin(), lines.end(),
                        [&](const std::string& line) { return line.rfind(row, 0) == 0; }));
    }
  }

  TEST_CASE("broken lines hold every character of the text, in columns of the terminal") {
    CHECK(cli::display_width("añ") == 2);
    CHECK(cli::display_width("日本") == 4);
    CHECK(cli::display_width("e\xcc\x81") == 1);
    CHECK(cli::leading("日本語", 5) == "日本");
    for (int64_t width = 2; width < 20; ++width) {
      for (const std::string text :
           {"one two three four", "a/very/long/path/of/folders", "日本語 とても 長い", "x"}) {
        std::string joined;
        for (const std::string& line : cli::lines_of(text, width)) {
          CHECK(cli::display_width(line) <= width);
          joined += line;
        }
        std::string expected = text;
        for (std::string* one : {&joined, &expected})
          one->erase(std::remove(one->begin(), one->end(), ' '), one->end());
        CHECK(joined == expected);
      }
    }
  }
}
