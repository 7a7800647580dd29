// tenon compat: two builds of a plugin, what breaks, and the version that does not say so.
#include <doctest/doctest.h>

#include "program.hpp"

namespace {

constexpr const char* kPlain = TENON_FIXTURES "/plain.so";
constexpr const char* kOther = TENON_FIXTURES "/other_schema.so";

std::string compat(const std::string& before, const std::string& now) {
  return "compat " + before + " " + now;
}

}  // namespace

TEST_SUITE("compat") {
  TEST_CASE("a plugin breaks nothing for its own callers") {
    const Outcome outcome = run_program(compat(kPlain, kPlain));
    CHECK(outcome.code == 0);
    CHECK(outcome.out == "plain 1.2.0 -> plain 1.2.0: callers notice nothing\n");
    const tenon::Json same = run_program(compat(kPlain, kPlain) + " --json").json();
    CHECK_FALSE(same["breaks"].as_bool());
    CHECK(same["changes"].size() == 0);
    CHECK(same["old"]["path"].text() == kPlain);
  }

  TEST_CASE("breaks are listed before additions, and end with 1") {
    const Outcome outcome = run_program(compat(kPlain, kOther));
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.out, "1 break, 2 additions"));
    const size_t id = outcome.out.find("its id is 'other_schema' now");
    const size_t added = outcome.out.find("it has a parameter 'by' with the default 1.0");
    CHECK(id < added);
    CHECK(added != std::string::npos);
    const tenon::Json found = run_program(compat(kPlain, kOther) + " --json").json();
    CHECK(found["breaks"].as_bool());
    CHECK(found["changes"][0]["kind"].text() == "plugin");
    CHECK(found["changes"][1]["name"].text() == "plain.add_one");
  }

  TEST_CASE("an op that is gone is named, with a version that promises the opposite") {
    const Outcome outcome = run_program(compat(kOther, kPlain));
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.out, "it has no parameter 'by' now"));
    CHECK(contains(outcome.out, "raise the first number"));
  }

  TEST_CASE("a file that is not a plugin is refused by name") {
    const Outcome outcome = run_program(compat(kPlain, TENON_FIXTURES "/no_facts.so"));
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error, "no_facts.so"));
    CHECK(run_program("compat " + std::string(kPlain)).code == 2);
  }
}
