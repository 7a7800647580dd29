// tenon ambiguities, what a strict config makes of overrides that are only warned of otherwise, and
// who is ranked above whom.
#include <doctest/doctest.h>

#include "program.hpp"

namespace {

constexpr const char* kTies = TENON_FIXTURES "/ties";
constexpr const char* kMediator = TENON_FIXTURES "/mediator";
constexpr const char* kSecond = TENON_FIXTURES "/second_mediator";

std::string config_of(const std::string& plugins, const std::string& more = "") {
  return "{\"schema_version\": 1, \"search_paths\": [\"" + std::string(kTies) + "\", \"" +
         kMediator + "\"], \"plugins\": [" + plugins + "]" + more + "}";
}

}  // namespace

TEST_SUITE("ambiguities") {
  TEST_CASE("F-282 overrides that tie are listed with the entry that would decide") {
    const Outcome outcome = run_program("--plugin-path " + std::string(kTies) + " ambiguities");
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.out, "register ties.meet[TieA, TieB, TieC]"));
    CHECK(contains(outcome.out, "register ties.diamond[TieChild, TieDescendant]"));
    CHECK(contains(outcome.error, "warning ties: "));
    CHECK(contains(outcome.error, "possible fix: register ties.diamond[TieChild, TieDescendant]"));
    const tenon::Json list =
        run_program("--plugin-path " + std::string(kTies) + " ambiguities --json").json();
    // Two operands are never of three types, so ties.pair is decided.
    REQUIRE(list.size() == 2);
    CHECK(list[0]["op"].text() == "ties.diamond");
    CHECK(list[1]["types"].size() == 3);
    CHECK(list[1]["overrides"][0]["key"].text() == "ties.meet[TieA, TieB]");
    CHECK(list[1]["overrides"][0]["provider"].text() == "ties");
    const Outcome none = run_program("--plugin-path " TENON_FIXTURES "/types ambiguities");
    CHECK(none.code == 0);
    CHECK(none.out == "no overrides are ambiguous\n");
  }

  TEST_CASE("F-282 another plugin's override decides, and nothing is warned of any more") {
    const Outcome outcome = run_program("--plugin-path " + std::string(kTies) + " --plugin-path " +
                                        kMediator + " ambiguities --json");
    CHECK(outcome.json().size() == 1);
    CHECK(!contains(outcome.error, "register ties.meet"));
  }

  TEST_CASE("F-283 an override of others' op for others' types is warned of, unless it is glue") {
    const Workspace folder;
    folder.write("plain.json", config_of("\"ties\", \"mediator\""));
    const std::string ask = " ambiguities --config ";
    const Outcome warned = run_program(ask + folder.path("plain.json").string());
    CHECK(contains(warned.error,
                   "override ties.meet[TieA, TieB, TieC]: plugin 'mediator' owns neither "
                   "the op, which is of 'ties', nor any of the types: type TieA of 'ties', "
                   "type TieB of 'ties', type TieC of 'ties'"));
    folder.write("glue.json", config_of(R"("ties", {"name": "mediator", "glue": true})"));
    CHECK(!contains(run_program(ask + folder.path("glue.json").string()).error, "owns neither"));
  }

  TEST_CASE("F-282 F-283 a strict config refuses what is warned of otherwise") {
    const Workspace folder;
    folder.write("strict.json", config_of("\"ties\"", ", \"strict\": true"));
    const Outcome refused =
        run_program("ambiguities --config " + folder.path("strict.json").string());
    CHECK(refused.code == 1);
    CHECK(contains(refused.error, "possible fix: register ties.diamond"));
    CHECK(contains(refused.error, "the config is strict"));
  }

  TEST_CASE("F-303 F-307 two providers of one override are an error, unless something ranks them") {
    const Workspace folder;
    const std::string ask = "--plugin-path " + std::string(kSecond) + " ambiguities --config ";
    const std::string glue = R"("ties", {"name": "mediator", "glue": true},
                               {"name": "second_mediator", "glue": true})";
    const std::string config = folder.path("c.json").string();
    folder.write("c.json", config_of(glue));
    const Outcome refused = run_program(ask + config);
    CHECK(refused.code == 1);
    for (const char* provider : {"mediator", "second_mediator"}) {
      CHECK(contains(refused.error,
                     "override ties.meet[TieA, TieB, TieC] would have two providers: "
                     "nothing ranks it above or below '" +
                         std::string(provider) + "' ("));
    }
    const auto is_ranked = [&](const Outcome& outcome) {
      return outcome.code == 0 && outcome.json().size() == 0;
    };
    CHECK(is_ranked(
        run_program(ask + config + " --json", "TENON_PREFER='*[TieB,TieA,TieC]=second_mediator'")));
    for (const char* preference :
         {R"("prefer": {"*[TieC, TieA, TieB]": "mediator"})",
          R"("prefer": {"ties.meet": "mediator"})", R"("duplicates": "last")"}) {
      folder.write("c.json", config_of(glue, R"(, "ops": {)" + std::string(preference) + "}"));
      CHECK(is_ranked(run_program(ask + config + " --json")));
    }
  }

  TEST_CASE("F-245 F-307 a config switches single overrides off") {
    const Workspace folder;
    const std::string config = folder.path("c.json").string();
    const auto listed = [&](const std::string& pattern) {
      folder.write("c.json",
                   R"({"schema_version": 1, "ops": {"disable": [")" + pattern + R"("]}})");
      return run_program("--plugin-path " + std::string(kTies) + " ambiguities --json --config " +
                         config);
    };
    CHECK(listed("ties.diamond[*]").json()[0]["op"].text() == "ties.meet");
    const Outcome one = listed("ties.meet[TieC,TieA]");
    CHECK(one.json().size() == 1);
    CHECK(!contains(one.error, "ties.meet"));
    CHECK(contains(listed("*[TieX]").error,
                   "ops.disable: '*[TieX]' matches no override of any plugin"));
  }

  TEST_CASE("F-307 the environment pins an op to a plugin, and listings say so") {
    const std::string found = "--plugin-path " TENON_FIXTURES " ";
    const std::string pin = "TENON_PREFER='plain.*=duplicate'";
    CHECK(contains(run_program(found + "show plain.add_one").out, "duplicate, contested"));
    const Outcome shown = run_program(found + "show plain.add_one", pin);
    CHECK(contains(shown.out, "duplicate, chosen: preferred by TENON_PREFER: plain.*"));
    CHECK(contains(shown.out, "plain, outranked: "));
    CHECK(contains(run_program(found + "why plain.add_one Tensor", pin).out,
                   "duplicate, preferred by TENON_PREFER: plain.*"));
    CHECK(contains(run_program("ops", "TENON_PREFER='add=unknown'").error,
                   "TENON_PREFER: no plugin has the id 'unknown'"));
  }
}
