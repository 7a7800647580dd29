// tenon rewrites, and rewrites in show and plan.
#include <doctest/doctest.h>

#include "program.hpp"

namespace {

const std::string kFolder = "--plugin-path " TENON_FIXTURES "/rewrites ";

}  // namespace

TEST_SUITE("rewrites") {
  TEST_CASE("rules are listed with their bound, or the reason for which they are not used") {
    const Outcome text = run_program(kFolder + "rewrites rewrites.");
    CHECK(text.code == 0);
    CHECK(contains(text.out, "equal by bits"));
    CHECK(contains(text.out, "not used       2 rules have its name"));
    const tenon::Json rules = run_program(kFolder + "rewrites rewrites.t --json").json();
    REQUIRE(rules.size() == 1);
    CHECK(rules[0]["name"].text() == "rewrites.twice");
    CHECK(rules[0]["pattern"].text() == "add(x, x)");
    CHECK(rules[0]["replacement"].text() == "rewrites.twice(x)");
    CHECK(rules[0]["conditions"].text() == "dtype(x) == f32, contiguous(x)");
    CHECK(rules[0]["active"].as_bool());
  }

  TEST_CASE("a pattern chooses rules, and one that matches none ends with 1 and suggests one") {
    CHECK(run_program(kFolder + "rewrites 'rewrites.t*' --names").out == "rewrites.twice\n");
    const Outcome none = run_program(kFolder + "rewrites rewrites.twixe");
    CHECK(none.code == 1);
    CHECK(contains(none.error,
                   "no rewrite matches 'rewrites.twixe' (did you mean "
                   "'rewrites.twice'?)"));
  }

  TEST_CASE("rules keep their order in lines of a width") {
    const std::string text = run_program(kFolder + "rewrites rewrites.", "COLUMNS=60").out;
    CHECK(text.find("rewrites.twice ") < text.find("rewrites.equal "));
    CHECK(text.find("rewrites.equal ") < text.find("rewrites.missing "));
  }

  TEST_CASE("a config disables and ranks rules") {
    const Workspace folder;
    folder.write("c.json", R"({"schema_version": 1, "rewrites": {"disable": ["rewrites.tw*"]},
        "input": {"shape": [4]}, "model":
        {"type": "Graph", "nodes": {"twice": {"op": "add", "inputs": ["input", "input"]}}}})");
    folder.write("all.json", R"({"schema_version": 1, "input": {"shape": [4]}, "model":
        {"type": "Graph", "nodes": {"twice": {"op": "add", "inputs": ["input", "input"]}}}})");
    const tenon::Json rules =
        run_program_in(folder.path(), kFolder + "rewrites rewrites.t --config c.json --json")
            .json();
    CHECK(rules[0]["reason"].text() == "it is disabled");
    const Outcome without = run_program_in(folder.path(), kFolder + "plan c.json --prepared");
    CHECK(!contains(without.out, "REWRITE"));
    const Outcome with = run_program_in(folder.path(), kFolder + "plan all.json --prepared");
    CHECK(contains(with.out,
                   "  rewritten by rewrites.twice of plugin rewrites, 1 time, equal by bits\n"));
    const tenon::Json json =
        run_program_in(folder.path(), kFolder + "plan all.json --prepared --json")
            .json()["prepared"];
    CHECK(json["calls"][0]["rewrite"].text() == "rewrites.twice");
    CHECK(json["rewrites"][0]["count"].integer() == 1);
    folder.write("bad.json", R"({"schema_version": 1, "rewrites": {"disabled": []}})");
    CHECK(contains(run_program_in(folder.path(), "rewrites --config bad.json").error,
                   "unknown key 'disabled'"));
  }

  TEST_CASE("a rule is shown in full") {
    const Outcome text = run_program(kFolder + "show rewrites.twice");
    CHECK(contains(text.out, "rewrites.twice  rewrite of plugin rewrites\n"));
    CHECK(contains(text.out, "pattern      add(x, x)\n"));
    CHECK(contains(run_program(kFolder + "show rewrites.missing").out,
                   "the op 'rewrites.nothing', which no plugin declares"));
  }
}
