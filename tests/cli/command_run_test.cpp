// tenon run: training, saving, evaluating, and what can go wrong.
#include <fstream>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "program.hpp"

TEST_SUITE("run") {
  TEST_CASE("a run trains, prints its result, and writes weights and curve") {
    const Workspace folder(true);
    const Outcome outcome = run_program_in(folder.path(), "run blobs.json");
    CHECK(outcome.code == 0);
    CHECK(outcome.out.rfind(
              "blobs.json: a model of 131 parameters, 12 epochs on 72 samples, tested on 18\n",
              0) == 0);
    for (const char* row :
         {"\n  train loss  ", "\n  test loss   ", "\n  accuracy    ", "\n  time        ",
          "\n  speed       ", " samples/s\n", "\n  weights     ", "\n  plot        "}) {
      CAPTURE(row);
      CHECK(contains(outcome.out, row));
    }
    CHECK(outcome.error.rfind("epoch  1/12  train loss ", 0) == 0);
    CHECK(contains(outcome.error, "\nepoch 12/12  train loss "));
    CHECK_FALSE(contains(outcome.error + outcome.out, "\033["));
    CHECK(std::filesystem::exists(folder.path("blobs.safetensors")));
    const std::string svg = folder.read("blobs.svg");
    CHECK(svg.rfind("<svg ", 0) == 0);
    CHECK(contains(svg, "<polyline class=\"curve train\""));
    CHECK(contains(svg, "<polyline class=\"curve test\""));
    CHECK(contains(svg, ">epoch</text>"));
    CHECK(svg.substr(svg.size() - 7) == "</svg>\n");
  }

  TEST_CASE("F-315 a run leaves no recorded call alive, and says so when asked") {
    const Workspace folder(true);
    const Outcome outcome = run_program_in(folder.path(), "run blobs.json --quiet", "TENON_LIVE=1");
    CHECK(outcome.code == 0);
    CHECK(contains(outcome.error, "tenon: alive at exit: []\n"));
  }

  TEST_CASE("the same seed gives the same numbers, another seed others") {
    const Workspace folder(true);
    const auto run = [&](const std::string& options) {
      const Outcome outcome =
          run_program_in(folder.path(), "run blobs.json --quiet --json " + options);
      CHECK(outcome.code == 0);
      CHECK(outcome.error == "");
      return outcome.json();
    };
    const tenon::Json first = run(""), second = run(""), other = run("--seed 8");
    CHECK(first["history"].size() == 12);
    CHECK(first["history"].dump() == second["history"].dump());
    CHECK(first["history"].dump() != other["history"].dump());
    CHECK(first["seed"].integer() == 3);
    CHECK(other["seed"].integer() == 8);
    CHECK(first["accuracy"].number() >= 0.9);
    CHECK(first["samples"]["train"].integer() == 72);
    CHECK(first["samples"]["test"].integer() == 18);
    CHECK(first["samples_per_second"].number() > 0);
  }

  TEST_CASE("saved weights give the same result when they are evaluated") {
    const Workspace folder(true);
    const tenon::Json trained = run_program_in(folder.path(), "run blobs.json -q --json").json();
    const std::string evaluate = "run blobs.json --evaluate blobs.safetensors";
    const tenon::Json evaluated = run_program_in(folder.path(), evaluate + " --json").json();
    CHECK(evaluated["mode"].text() == "evaluate");
    CHECK(evaluated["accuracy"].number() == trained["accuracy"].number());
    CHECK(evaluated["test_loss"].number() == trained["test_loss"].number());
    CHECK(contains(run_program_in(folder.path(), evaluate).out, "evaluated on 18 samples"));
  }

  TEST_CASE("a regression by column name learns the plane") {
    const Workspace folder(true);
    const tenon::Json result = run_program_in(folder.path(), "run plane.json -q --json").json();
    CHECK(result["test_loss"].number() < 1e-3);
    CHECK_FALSE(result["accuracy"].defined());
    CHECK(result["weights"].is_null());
  }

  TEST_CASE("the command line wins over the config") {
    const Workspace folder(true);
    const Outcome outcome =
        run_program_in(folder.path(), "run blobs.json -q --json --epochs 2 --plot other.svg");
    CHECK(outcome.json()["epochs"].integer() == 2);
    CHECK(std::filesystem::exists(folder.path("other.svg")));
    CHECK_FALSE(std::filesystem::exists(folder.path("blobs.svg")));
    CHECK(run_program_in(folder.path(), "run blobs.json --evaluate blobs.safetensors --epochs 2")
              .code == 2);
  }

  TEST_CASE("a folder that cannot be written to is reported before the training") {
    const Workspace folder(true);
    const Outcome outcome =
        run_program_in(folder.path(), "run blobs.json --plot nowhere/curve.svg");
    CHECK(outcome.code == 1);
    CHECK(outcome.error ==
          "tenon: IOError: cannot write 'nowhere/curve.svg': there is no folder 'nowhere'\n");
    CHECK_FALSE(std::filesystem::exists(folder.path("blobs.safetensors")));
  }

  TEST_CASE("a config without a model has nothing to run") {
    const Workspace folder;
    folder.write("plugins.json", R"({"schema_version": 1, "plugins": ["math"]})");
    const Outcome outcome = run_program_in(folder.path(), "run plugins.json");
    CHECK(outcome.code == 1);
    CHECK(
        contains(outcome.error,
                 "ConfigError: plugins.json: there is nothing to run: the config has no \"data\""));
  }

  TEST_CASE("weights of another model are refused") {
    const Workspace folder(true);
    CHECK(run_program_in(folder.path(), "run blobs.json -q").code == 0);
    std::string wider = folder.read("blobs.json");
    for (size_t at; (at = wider.find("16,")) != std::string::npos;) wider.replace(at, 3, "8,");
    for (size_t at; (at = wider.find("16}")) != std::string::npos;) wider.replace(at, 3, "8}");
    folder.write("other.json", wider);
    const Outcome outcome =
        run_program_in(folder.path(), "run other.json --evaluate blobs.safetensors");
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error, "0.weight"));
  }

  TEST_CASE("labels that the model does not score are refused") {
    const Workspace folder(true);
    std::string text = folder.read("blobs.json");
    text.replace(text.find("\"out_features\": 3"), 17, "\"out_features\": 2");
    folder.write("two.json", text);
    const Outcome outcome = run_program_in(folder.path(), "run two.json -q");
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error, "ValueError: two.json:"));
    CHECK_FALSE(std::filesystem::exists(folder.path("blobs.safetensors")));
  }

  TEST_CASE("a training that diverges says so and saves nothing") {
    const Workspace folder(true);
    std::string text = folder.read("plane.json");
    text.replace(text.find("\"adam\", \"learning_rate\": 0.1"), 28,
                 "\"sgd\", \"learning_rate\": 1e6");
    folder.write("wild.json", text);
    const Outcome outcome = run_program_in(folder.path(), "run wild.json -q");
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error, "training diverged"));
    CHECK(contains(outcome.error, "lower /optimizer/learning_rate"));
  }

  TEST_CASE("Ctrl-C ends after the batch and saves nothing") {
    const Workspace folder(true);
    folder.write("interrupted.sh", "'" TENON_PROGRAM
                                   "' run blobs.json --epochs 100000000 >/dev/null & program=$!\n"
                                   "while ! grep -q epoch log; do sleep 0.05; done\n"
                                   "kill -INT $program\n"
                                   "wait $program\n"
                                   "echo ended with $? >>log\n");
    // A background job of a shell without job control ignores interrupts; env takes that back.
    const std::string command =
        "cd '" + folder.path().string() +
        "' && touch log && sed -i 's/^/env --default-signal=INT /; 2,$s/^env "
        "--default-signal=INT //' interrupted.sh && sh interrupted.sh 2>log";
    CHECK(std::system(command.c_str()) == 0);
    const std::string log = folder.read("log");
    CHECK(contains(log, "tenon: interrupted after "));
    CHECK(contains(log, "nothing was saved"));
    CHECK(contains(log, "ended with 130"));
    CHECK_FALSE(std::filesystem::exists(folder.path("blobs.safetensors")));
  }
}
