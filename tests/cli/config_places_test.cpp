// Faults of a config that only an installation shows: each names its line, column and JSON path.
#include <doctest/doctest.h>

#include <tenon/config/config.hpp>
#include <tenon/runtime.hpp>
#include <tenon/trust/guard.hpp>

#include "program.hpp"

namespace {

struct Case {
  const char* line;   // the third one of the config
  const char* place;  // "3:14: /plugins/0"
  const char* what;
};

const Case kCases[] = {
    {R"("plugins": ["math", "nosuch"])", "3:21: /plugins/1: ", "no plugin has this id"},
    {R"("plugins": [{"name": "math", "version": ">=9"}])",
     "3:41: /plugins/0/version: ", "its version differs from the version in the config"},
    {R"("plugins": [{"name": "math", "sha256":
        "0000000000000000000000000000000000000000000000000000000000000000"}])",
     "4:9: /plugins/0/sha256: ", "its bytes are not those that the config pins"},
    {R"("plugins": [{"name": "maths", "path": ")" TENON_FIXTURES R"(/plain.so"}])",
     "3:13: /plugins/0: ", "the file at this path is plugin 'plain'"},
    {R"("ops": {"prefer": {"add*": "nosuch"}})",
     "3:28: /ops/prefer/add*: ", "no plugin has this id"},
    {R"("ops": {"prefer": {"nosuch*": "math"}})",
     "3:31: /ops/prefer/nosuch*: ", "'nosuch*' matches no op or module of plugin 'math'"},
    {R"("ops": {"disable": ["exp2", "nosuch"]})",
     "3:29: /ops/disable/1: ", "'nosuch' matches no op or module of any plugin"},
    {R"("types": {"Nosuch": {}})", "3:21: /types/Nosuch: ", "no plugin provides a tensor type"},
    {R"("types": {"D": {"covers": ["add", "nosuch"]}})",
     "3:35: /types/D/covers/1: ", "'nosuch' matches no op"},
    {R"("types": {"D": {"fallback_ops": {"deny": ["nosuch"]}}})",
     "3:43: /types/D/fallback_ops/deny/0: ", "'nosuch' matches no op"},
};

std::string config_of(const std::string& line) {
  return "{\"schema_version\": 1,\n\"search_paths\": [\"" TENON_FIXTURES "/types\"],\n" + line +
         "}";
}

std::string applied_error(const std::string& path) {
  tenon::trust::install();  // as the program does
  try {
    tenon::config::apply(tenon::config::read(path));
  } catch (const tenon::Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_SUITE("config places") {
  TEST_CASE("what applying a config refuses names its place: plan, run and the API") {
    const Workspace folder;
    for (const Case& one : kCases) {
      CAPTURE(one.line);
      folder.write("c.json", config_of(one.line));
      const std::string place = std::string("c.json:") + one.place;
      for (const char* command : {"plan c.json", "run c.json"}) {
        const Outcome outcome = run_program_in(folder.path(), command);
        CAPTURE(outcome.error);
        if (command == std::string("run c.json") && contains(outcome.error, "cannot run: "))
          continue;
        CHECK(outcome.code == 1);
        CHECK(contains(outcome.error, place));
        CHECK(contains(outcome.error, one.what));
      }
      const std::string error = applied_error(folder.path("c.json"));
      CAPTURE(error);
      CHECK(error.rfind(folder.path("c.json").string() + ":" + one.place, 0) == 0);
    }
  }

  TEST_CASE("each of several faults names its place") {
    const Workspace folder;
    folder.write("c.json", config_of(R"("plugins": ["nosuch"], "ops": {"disable": ["nosuch"]})"));
    const std::string error = run_program_in(folder.path(), "plan c.json").error;
    CHECK(contains(error, "config 'c.json' has 2 faults:\nc.json:3:13: /plugins/0: "));
    CHECK(contains(error, "\nc.json:3:44: /ops/disable/0: "));
  }

  TEST_CASE("options that a plugin refuses, eager or at the first use") {
    const Workspace folder;
    for (const char* load : {"eager", "lazy"}) {
      folder.write("c.json", config_of(R"("plugins": [{"path": ")" TENON_FIXTURES
                                       R"(/init_fails.so", "load": ")" +
                                       std::string(load) + R"(",
        "options": {"device": 9}}])"));
      const Outcome why = run_program_in(folder.path(), "why init_fails.op Tensor --config c.json");
      CAPTURE(why.out + why.error);
      CHECK(why.code == 1);
      CHECK(contains(why.out + why.error, "c.json:4:20: /plugins/0/options: "));
    }
  }

  TEST_CASE("what plan finds in data, model, loss and output names its place") {
    const Workspace folder(true);
    folder.write("c.json", R"({"schema_version": 1,
"data": {"path": "blobs.csv", "targets": 99},
"model": {"type": "Sequential", "layers": [{"type": "Linear", "in_features": "4"}]},
"loss": {"type": "nn.functional.cross_entropy", "weight": {}, "nosuch": 1},
"output": {"weights": "nowhere/w.safetensors"}})");
    const std::string error = run_program_in(folder.path(), "plan c.json").error;
    CAPTURE(error);
    for (const char* place :
         {"c.json:2:9: /data: csv(): ",
          "c.json:3:78: /model/layers/0/in_features: Linear takes 'int in_features', found \"4\"",
          "c.json:3:44: /model/layers/0: Linear needs 'int out_features'",
          "c.json:4:59: /loss/weight: nn.functional.cross_entropy takes 'Tensor? weight', "
          "found {}",
          "c.json:4:73: /loss/nosuch: nn.functional.cross_entropy has no argument "
          "'nosuch'",
          "c.json:5:23: /output/weights: cannot write"})
      CHECK(contains(error, place));
    folder.write("c.json", R"({"schema_version": 1, "seed": 3,
"data": {"path": "blobs.csv", "targets": 99}, "model": "ReLU", "training": {"epochs": 1},
"loss": "nn.functional.cross_entropy", "optimizer": {"type": "sgd", "learning_rate": 1}})");
    CHECK(contains(run_program_in(folder.path(), "run c.json").error,
                   "targets names column 99, the file has columns 0 to 4"));
    const auto run = [&](const std::string& line) {
      folder.write("c.json", R"({"schema_version": 1, "seed": 3, "training": {"epochs": 1},
"optimizer": {"type": "sgd", "learning_rate": 1},
"model": {"type": "Linear", "in_features": 4, "out_features": 3},
)" + line + "}");
      return run_program_in(folder.path(), "run c.json -q").error;
    };
    CHECK(contains(run(R"("data": {"path": "gone.csv"}, "loss": "nn.functional.cross_entropy")"),
                   "c.json:4:18: /data/path: "));
    CHECK(contains(run(R"("data": {"path": "blobs.csv"},
"loss": {"type": "nn.functional.cross_entropy", "reduction": "maximum"})"),
                   "c.json:5:9: /loss: "));
    CHECK(contains(run(R"("data": {"path": "blobs.csv"}, "loss": "nn.functional.cross_entropy",
"output": {"weights": "nowhere/w"})"),
                   "c.json:5:23: /output/weights: cannot write"));
  }
}
