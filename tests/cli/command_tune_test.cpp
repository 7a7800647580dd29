// tenon tune: what is measured, which preferences follow, and what they do afterwards.
#include <doctest/doctest.h>

#include "program.hpp"

namespace {

constexpr auto kOptions =
    "--plugin-path " TENON_FIXTURES "/tuned tune c.json --clock tuned.work --least-gain 5 ";

// Trains on 72 of 90 samples in batches of 16 and evaluates on 18, the first op being one of two
// providers: `tuned_small`, which is asked first and works for each element, and `tuned_even`, which
// does the work of 40 elements.
std::string config(const std::string& ops = "") {
  return R"({
  // The digits of a toy.
  "schema_version": 1,
  "seed": 3,
  "data": {"path": "blobs.csv", "scale": 0.1},
  "split": {"test": 0.2},
  "model": {"type": "Sequential", "layers": [
    {"type": "Graph", "nodes": {"worked": {"op": "tuned.same"}}},
    {"type": "Linear", "in_features": 4, "out_features": 3}  // small
  ]},
  "loss": "nn.functional.cross_entropy",
  "optimizer": {"type": "sgd", "learning_rate": 0.5},
  "training": {"epochs": 12, "batch_size": 16})" +
         ops + "\n}\n";
}

const tenon::Json* find_class(const std::vector<tenon::Json>& classes, const std::string& input) {
  for (const tenon::Json& one : classes) {
    if (one["op"].text() == "tuned.same" && one["when"]["input"].text() == input) return &one;
  }
  return nullptr;
}

std::vector<tenon::Json> classes_of(const tenon::Json& result) {
  std::vector<tenon::Json> list;
  for (int64_t i = 0; i < result["classes"].size(); ++i) list.push_back(result["classes"][i]);
  return list;
}

}  // namespace

TEST_SUITE("cli/tune") {
  TEST_CASE("each class of shapes gets the provider that takes the least time") {
    const Workspace folder(true);
    folder.write("c.json", config());
    const Outcome outcome = run_program_in(folder.path(), std::string(kOptions) + "--json");
    CHECK(outcome.error == "");
    REQUIRE(outcome.code == 0);
    const std::vector<tenon::Json> classes = classes_of(outcome.json());
    const tenon::Json* whole = find_class(classes, "f32[16, 4]");
    REQUIRE(whole != nullptr);
    CHECK((*whole)["calls"].integer() == 8);
    CHECK((*whole)["times"].dump() == R"({"tuned_even":320.0,"tuned_small":512.0})");
    CHECK((*whole)["usual"].text() == "tuned_small");
    CHECK((*whole)["fastest"].text() == "tuned_even");
    CHECK((*whole)["gain"].number() == doctest::Approx(1 - 40.0 / 64));
    CHECK((*whole)["rule"].as_bool());
    const tenon::Json* rest = find_class(classes, "f32[8, 4]");
    REQUIRE(rest != nullptr);
    CHECK((*rest)["calls"].integer() == 2);
    CHECK((*rest)["fastest"].text() == "tuned_small");
    CHECK_FALSE((*rest)["rule"].as_bool());
    const tenon::Json* tested = find_class(classes, "f32[17..31, 4]");
    REQUIRE(tested != nullptr);
    CHECK((*tested)["fastest"].text() == "tuned_even");
    // Nothing but the table and the diff.
    CHECK(folder.read("c.json") == config());
    CHECK_FALSE(outcome.json()["written"].as_bool());
  }

  TEST_CASE(
      "without --write the change is a diff, with it the config has the preferences and they "
      "decide") {
    const Workspace folder(true);
    folder.write("c.json", config());
    const Outcome shown = run_program_in(folder.path(), kOptions);
    REQUIRE(shown.code == 0);
    CHECK(contains(shown.out, "tuned.same"));
    CHECK(contains(shown.out, "tuned_even 40, tuned_small 64"));
    CHECK(contains(shown.out, "--- c.json\n+++ c.json\n@@ "));
    CHECK(contains(
        shown.out,
        "+        {\"plugin\": \"tuned_even\", \"when\": {\"input\": \"f32[16, 4]\"}},\n"));
    CHECK(folder.read("c.json") == config());

    const Outcome written = run_program_in(folder.path(), std::string(kOptions) + "--write");
    REQUIRE(written.code == 0);
    const std::string tuned = folder.read("c.json");
    CHECK(contains(tuned, "{\n  \"ops\": {\n    \"prefer\": {\n      \"tuned.same\": [\n"));
    CHECK(contains(tuned, "  // The digits of a toy.\n"));
    CHECK(contains(tuned, "}  // small\n"));

    const std::string fixtures = "--plugin-path " TENON_FIXTURES "/tuned ";
    const Outcome plan = run_program_in(folder.path(), fixtures + "plan c.json --providers");
    CHECK(plan.error == "");
    CHECK(contains(plan.out,
                   "tuned_small: config 'c.json' prefers 'tuned_even' where input is f32[16, 4]"));
    CHECK(contains(plan.out, "prefer     tuned_even for tuned.same(input=\"f32[16, 4]\")"));
    const Outcome again = run_program_in(folder.path(), kOptions);
    CHECK(contains(again.out, "it stays as it is"));
  }

  TEST_CASE("preferences for other classes and for all calls stay, those of measured ones change") {
    const Workspace folder(true);
    const std::string before = R"("ops": {"prefer": {"add": "math", "tuned.same": [
      {"plugin": "tuned_small", "when": {"input": "f32[16, 4]"}},
      {"plugin": "tuned_small", "when": {"input": "f32[3, 3, 3]"}},
      "tuned_small"]}})";
    folder.write("c.json", config(", " + before));
    REQUIRE(run_program_in(folder.path(), std::string(kOptions) + "--write").code == 0);
    const std::string tuned = folder.read("c.json");
    CHECK(contains(tuned, "{\"plugin\": \"tuned_even\", \"when\": {\"input\": \"f32[16, 4]\"}}"));
    CHECK(
        contains(tuned, "{\"plugin\": \"tuned_small\", \"when\": {\"input\": \"f32[3, 3, 3]\"}}"));
    CHECK_FALSE(
        contains(tuned, "{\"plugin\": \"tuned_small\", \"when\": {\"input\": \"f32[16, 4]\"}}"));
    CHECK(contains(tuned, "\"tuned_small\"\n"));
    CHECK(contains(tuned, "\"add\": \"math\""));
  }

  TEST_CASE("a gain below --least-gain makes no preference") {
    const Workspace folder(true);
    folder.write("c.json", config());
    const Outcome outcome =
        run_program_in(folder.path(), "--plugin-path " TENON_FIXTURES
                                      "/tuned tune c.json --clock tuned.work --least-gain 50");
    CHECK(outcome.code == 0);
    CHECK(
        contains(outcome.out, "\nno preference that the config does not have saves 50 % or more"));
  }

  TEST_CASE("what cannot be tuned is refused with a remedy") {
    const Workspace folder(true);
    folder.write("c.json", R"({"schema_version": 1})");
    const Outcome nothing = run_program_in(folder.path(), "tune c.json");
    CHECK(nothing.code == 1);
    CHECK(contains(nothing.error, "c.json: cannot train: the config has no "));
    const Outcome standard_input = run_program_in(folder.path(), "tune -");
    CHECK(standard_input.code == 2);
    CHECK(contains(standard_input.error, "cannot be tuned: name its file"));
    folder.write("c.json", config());
    const Outcome clock = run_program_in(
        folder.path(), "--plugin-path " TENON_FIXTURES "/tuned tune c.json --clock tuned.wrk");
    CHECK(clock.code == 1);
    CHECK(contains(clock.error, "did you mean 'tuned.work'?"));
  }

  TEST_CASE("a preference that cannot hold is refused with its place") {
    const Workspace folder(true);
    const auto fault = [&](const std::string& preference) {
      folder.write("c.json",
                   config(R"(, "ops": {"prefer": {"tuned.same": [)" + preference + "]}}"));
      return run_program_in(folder.path(), "--plugin-path " TENON_FIXTURES "/tuned plan c.json")
          .error;
    };
    CHECK(contains(fault(R"({"plugin": "tuned_even", "when": {"inputs": "[4]"}})"),
                   "/ops/prefer/tuned.same/0/when/inputs: "));
    CHECK(contains(
        fault(R"({"plugin": "tuned_even", "when": {"inputs": "[4]"}})"),
        "'inputs' is not a tensor among the parameters of 'tuned.same' (did you mean 'input'?); "
        "name one of its tensors: 'input'"));
    CHECK(contains(fault(R"({"plugin": "tuned_odd", "when": {"input": "[4]"}})"),
                   "no plugin has this id"));
    CHECK(contains(fault(R"({"plugin": "tuned_even", "when": {"input": "4"}})"),
                   "expected a class of shapes like 'f32[64..127, 784]'"));
  }
}
