// Files of prepared models beside a config: scores, and what is refused.
#include <cmath>

#include <doctest/doctest.h>

#include <tenon/state/tensor_file.hpp>
#include <tenon/tenon.hpp>

#include "program.hpp"

namespace {

// The model of blobs.json, trained, with 18 samples of 4 numbers that it is tested on.
struct Blobs : Workspace {
  Blobs() : Workspace(true) { REQUIRE(run("run blobs.json -q").code == 0); }
  Outcome run(const std::string& arguments) const { return run_program_in(path(), arguments); }
  Outcome evaluate(const std::string& options = "") const {
    return run("run blobs.json --evaluate blobs.tenon " + options);
  }
  void prepare(const std::string& inputs) const {
    const Outcome made = run("convert blobs.json blobs.tenon " + inputs);
    CHECK(made.error == "");
    REQUIRE(made.code == 0);
  }
  // blobs.tenon with `to` in place of the first `from` of its lists.
  void replace(const std::string& from, const std::string& to) const {
    const std::string file = path("blobs.tenon");
    std::string text = tenon::state::metadata(file)["tenon.prepared"].text();
    const size_t place = text.find(from);
    REQUIRE(place != std::string::npos);
    tenon::state::save_tensors(
        file, tenon::state::load_tensors(file),
        tenon::JsonObject().set("tenon.prepared", text.replace(place, from.size(), to)).json());
  }
};

}  // namespace

TEST_SUITE("prepared files") {
  TEST_CASE("a prepared model has the scores of its weights, whatever batches it is for") {
    const Blobs blobs;
    const tenon::Json weights =
        blobs.run("run blobs.json --evaluate blobs.safetensors --json").json();
    for (const char* inputs : {"--input input=18x4", "--input input=16x4 --input input=1x4",
                               "--input input=5x4 --input input=4x4 --input input=7x4"}) {
      CAPTURE(inputs);
      blobs.prepare(inputs);
      const Outcome outcome = blobs.evaluate("--json");
      CHECK(outcome.error == "");
      const tenon::Json score = outcome.json();
      CHECK(score["mode"].text() == "evaluate");
      CHECK(score["accuracy"].number() == weights["accuracy"].number());
      CHECK(std::abs(score["test_loss"].number() - weights["test_loss"].number()) < 1e-5);
    }
    CHECK(contains(blobs.evaluate().out, "evaluated on 18 samples"));
  }

  TEST_CASE("a prepared model is measured on the samples that its training held back") {
    const Blobs blobs;
    blobs.prepare("--input input=18x4");
    CHECK(contains(blobs.evaluate("--seed 12").error, "was trained with seed 3"));
    REQUIRE(blobs.run("convert blobs.tenon copy.tenon").code == 0);
    CHECK(contains(blobs.run("run blobs.json --evaluate copy.tenon --seed 12").error,
                   "was trained with seed 3"));
  }

  TEST_CASE("batches that do not add up, and samples of another layout, name what is missing") {
    const Blobs blobs;
    blobs.prepare("--input input=16x4");
    const Outcome uneven = blobs.evaluate();
    CHECK(uneven.code == 1);
    CHECK(
        contains(uneven.error,
                 "ValueError: the prepared model is for batches of 16 samples, which do not add up "
                 "to 18; prepare it for batches of 2, too"));
    blobs.write("net.json", R"({"schema_version": 1, "plugins": ["math", "nn"],
      "model": {"type": "Linear", "in_features": 3, "out_features": 3}})");
    REQUIRE(blobs.run("convert net.json blobs.tenon --input input=18x3").code == 0);
    const Outcome other = blobs.evaluate();
    CHECK(other.code == 1);
    CHECK(contains(other.error,
                   "the prepared model is for f32[18, 3], and the samples are f32[18, 4]"));
  }

  TEST_CASE(
      "another build of a plugin, processor or provider is refused before anything is scored") {
    struct Case {
      const char *from, *to, *says;
    };
    const Blobs blobs;
    for (const Case& one : {Case{"\"build-id:", "\"build-id:0",
                                 "PluginError: 'blobs.tenon' was prepared with another build"},
                            Case{R"("processor":")", R"("processor":"v9 )",
                                 "RuntimeError: 'blobs.tenon' was prepared for another processor"},
                            Case{R"("providers":["nn")", R"("providers":["math")",
                                 "PluginError: 'blobs.tenon' was prepared for"}}) {
      CAPTURE(one.from);
      blobs.prepare("--input input=18x4");
      blobs.replace(one.from, one.to);
      const Outcome outcome = blobs.evaluate();
      CHECK(outcome.code == 1);
      CHECK(outcome.out == "");
      CHECK(contains(outcome.error, one.says));
      CHECK(contains(outcome.error, "prepare the model again"));
    }
  }

  TEST_CASE("options that call the modules of a model are refused with a prepared one") {
    const Blobs blobs;
    blobs.prepare("--input input=18x4");
    for (const char* option : {"--as-is", "--per-sample-norms", "--report r.html", "--profile",
                               "--profile-trace p.json", "--trace t.trace"}) {
      CAPTURE(option);
      const Outcome outcome = blobs.evaluate(option);
      CHECK(outcome.code == 2);
      CHECK(contains(outcome.error,
                     "calls the modules of a model, and 'blobs.tenon' is a prepared one"));
    }
  }

  TEST_CASE("a prepared model is refused on other devices than the CPU, by option and by config") {
    const Blobs blobs;
    blobs.prepare("--input input=18x4");
    const auto refusal = [](const Outcome& outcome) {
      CHECK(outcome.code == 2);
      CHECK(outcome.out == "");
      return outcome.error;
    };
    CHECK(contains(refusal(blobs.evaluate("--device sim:1")),
                   "--device is sim:1, and --evaluate 'blobs.tenon' is the file of a prepared "
                   "model, which runs on the CPU: evaluate the weights there, or leave --device "
                   "out"));
    for (const char* command : {"run blobs.tenon", "predict blobs.tenon"})
      CHECK(contains(refusal(blobs.run(std::string(command) + " --device sim:1")),
                     "--device is sim:1, and 'blobs.tenon' is the file of a prepared model, which "
                     "runs on the CPU: call the model that it was made of there, or leave --device "
                     "out"));
    CHECK(blobs.evaluate("--device cpu").code == 0);
    std::string config = blobs.read("blobs.json");
    config.insert(config.find("\"epochs\""), "\"device\": \"sim:1\", ");
    blobs.write("blobs.json", config);
    const std::string text = refusal(blobs.evaluate());
    CHECK(contains(text, "/training/device is sim:1, and --evaluate 'blobs.tenon' is"));
    CHECK(contains(text, "or add --device cpu"));
    CHECK(blobs.evaluate("--device cpu").code == 0);
  }

  TEST_CASE("a layout that the model refuses ends the preparation, and no file is written") {
    const Blobs blobs;
    const Outcome outcome =
        blobs.run("convert blobs.json blobs.tenon --input input=18x4 --input input=18x5");
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error, "RuntimeError: cannot prepare 'blobs.json' for f32[18, 5]: "));
    CHECK_FALSE(std::filesystem::exists(blobs.path("blobs.tenon")));
  }
}
