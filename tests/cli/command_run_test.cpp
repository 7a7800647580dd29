// tenon run: training, saving, evaluating, and what can go wrong.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <random>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "program.hpp"

namespace {

// A run with dropout and Adam that writes checkpoints, and what it gives when nothing breaks it.
struct ResumableRun {
  // `training` replaces the epochs of blobs.json.
  explicit ResumableRun(const std::string& training) : folder(true) {
    config = folder.read("blobs.json");
    const auto replace = [&](const std::string& from, const std::string& to) {
      config.replace(config.find(from), from.size(), to);
    };
    replace("\"ReLU\",", "\"ReLU\", {\"type\": \"Dropout\", \"p\": 0.2},");
    replace("\"sgd\"", "\"adam\"");
    replace(", \"momentum\": 0.9", "");
    replace("\"epochs\": 12", training);
    replace("\"plot\": \"blobs.svg\"",
            "\"checkpoint\": \"run.checkpoint\", \"history\": \"history.jsonl\"");
    folder.write("c.json", config);
    const auto start = std::chrono::steady_clock::now();
    CHECK(run_program_in(folder.path(), "run c.json -q").code == 0);
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    weights = folder.read("blobs.safetensors");
    history = folder.read("history.jsonl");
  }
  // Deletes what runs have written.
  void forget() const {
    for (const char* file : {"blobs.safetensors", "history.jsonl", "run.checkpoint"})
      std::filesystem::remove(folder.path(file));
  }
  Outcome resume(const std::string& environment = "") const {
    return run_program_in(folder.path(), "run c.json -q --resume", environment);
  }
  void check_resumed() const {
    const Outcome rest = resume();
    CAPTURE(rest.error);
    CHECK(rest.code == 0);
    CHECK((folder.read("blobs.safetensors") == weights));
    CHECK(folder.read("history.jsonl") == history);
  }

  Workspace folder;
  std::string config, weights, history;
  double seconds = 0;
};

// blobs.json with this device in its training.
void write_with_device(const Workspace& folder, const char* file, const std::string& device) {
  std::string config = folder.read("blobs.json");
  config.insert(config.find("\"epochs\""), "\"device\": \"" + device + "\", ");
  folder.write(file, config);
}

}  // namespace

TEST_SUITE("run") {
  TEST_CASE("a device that is not there is refused at its place, with those that are") {
    const Workspace folder(true);
    for (const char* name : {"cuda:0", "", "sim:x"}) {
      CAPTURE(name);
      write_with_device(folder, "other.json", name);
      const Outcome outcome = run_program_in(folder.path(), "run other.json -q");
      CHECK(outcome.code == 1);
      CHECK(contains(outcome.error, "/training/device"));
      CHECK(
          contains(outcome.error, "no device is named '" + std::string(name) + "'; expected cpu"));
    }
  }

  TEST_CASE("a device whose plugin does not load is named with the plugin's error") {
    const Workspace folder(true);
    std::string config = folder.read("blobs.json");
    const std::string plugins = "\"plugins\": [";
    config.insert(config.find(plugins) + plugins.size(),
                  R"({"name": "sim", "options": {"instances": "two"}}, )");
    folder.write("two.json", config);
    const Outcome outcome = run_program_in(folder.path(), "run two.json -q --device sim:0");
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error, "cannot load plugin 'sim' at stage init: its init failed"));
    CHECK(contains(outcome.error, R"(/instances: expected an integer, found "two")"));
    CHECK_FALSE(contains(outcome.error, "no device is named"));
  }

  TEST_CASE("--device trains on a device, with the numbers of the CPU") {
    const Workspace folder(true);
    const auto loss = [&](const std::string& device) {
      const Outcome outcome = run_program_in(folder.path(), "run blobs.json -q --json" + device);
      CHECK_MESSAGE(outcome.code == 0, outcome.error);
      return outcome.json()["train_loss"].number();
    };
    CHECK(loss(" --device sim:1") == doctest::Approx(loss("")).epsilon(1e-5));
  }

  TEST_CASE("errors of --device name the option, and no place of a config that it replaces") {
    const Workspace folder(true);
    write_with_device(folder, "there.json", "nowhere:3");
    CHECK(run_program_in(folder.path(), "run blobs.json -q").code == 0);
    for (const char* arguments :
         {"run blobs.json -q", "run there.json -q", "run there.json --evaluate blobs.safetensors",
          "predict blobs.json blobs.csv -o p.csv"}) {
      CAPTURE(arguments);
      const Outcome unknown =
          run_program_in(folder.path(), std::string(arguments) + " --device nowhere:0");
      CHECK(unknown.code == 1);
      CHECK(contains(unknown.error, "ValueError: --device: no device is named 'nowhere:0'"));
      const Outcome missing =
          run_program_in(folder.path(), std::string(arguments) + " --device sim:9");
      CHECK(contains(missing.error, "IndexError: --device: there is no device sim:9; 'sim' has 2"));
    }
  }

  TEST_CASE("an evaluation runs on the config's device, or on that of --device in its place") {
    const Workspace folder(true);
    CHECK(run_program_in(folder.path(), "run blobs.json -q").code == 0);
    const auto evaluate = [&](const std::string& config, const std::string& options) {
      return run_program_in(folder.path(),
                            "run " + config + " --evaluate blobs.safetensors " + options,
                            "TENON_TRACE=text");
    };
    const auto on_device = [](const Outcome& outcome) {
      CHECK(outcome.code == 0);
      return contains(outcome.error, "handler of sim (plugin sim)");
    };
    write_with_device(folder, "sim.json", "sim:1");
    CHECK_FALSE(on_device(evaluate("blobs.json", "")));
    CHECK(on_device(evaluate("blobs.json", "--device sim:1")));
    CHECK(on_device(evaluate("sim.json", "")));
    CHECK_FALSE(on_device(evaluate("sim.json", "--device cpu")));
    write_with_device(folder, "nine.json", "sim:9");
    const Outcome missing = evaluate("nine.json", "");
    CHECK(missing.code == 1);
    CHECK(contains(missing.error, "/training/device: there is no device sim:9; 'sim' has 2"));
  }

  TEST_CASE("norms and reports of an evaluation on a device are those of the CPU") {
    const Workspace folder(true);
    CHECK(run_program_in(folder.path(), "run blobs.json -q").code == 0);
    const auto evaluated = [&](const std::string& options) {
      const Outcome outcome = run_program_in(
          folder.path(), "run blobs.json --json --evaluate blobs.safetensors " + options);
      REQUIRE_MESSAGE(outcome.code == 0, outcome.error);
      return outcome.json();
    };
    const tenon::Json cpu = evaluated("--per-sample-norms");
    for (const char* options :
         {"--device sim:1 --per-sample-norms", "--device sim:1 --per-sample-norms --report r.html",
          "--device sim:1 --per-sample-norms --report r.html --as-is --profile"}) {
      CAPTURE(options);
      const tenon::Json sim = evaluated(options);
      for (const char* key : {"largest", "median", "least"})
        CHECK(sim["per_sample_norms"][key].number() ==
              doctest::Approx(cpu["per_sample_norms"][key].number()).epsilon(1e-4));
      CHECK(sim["accuracy"].number() == cpu["accuracy"].number());
    }
    CHECK(contains(folder.read("r.html"), "confusion"));
  }

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
    // The accuracy has its own panel and curve.
    CHECK(contains(svg, ">test accuracy</text>"));
    CHECK(svg.find("curve test\" points", svg.find(">test accuracy</text>")) != svg.npos);
    CHECK(svg.substr(svg.size() - 7) == "</svg>\n");
  }

  TEST_CASE("--per-sample-norms prints norms of gradients, and the samples with the largest") {
    const Workspace folder(true);
    const Outcome text = run_program_in(folder.path(), "run blobs.json -q --per-sample-norms");
    CHECK(text.code == 0);
    CHECK(contains(text.out, "\ngradient norms of 72 train samples: largest 0."));
    CHECK(contains(text.out, "\n  sample     norm\n"));
    const tenon::Json norms =
        run_program_in(folder.path(),
                       "run blobs.json --json --evaluate blobs.safetensors --per-sample-norms")
            .json()["per_sample_norms"];
    CHECK(norms["part"].text() == "test");
    CHECK(norms["count"].integer() == 18);
    CHECK(norms["samples"].size() == 5);
    CHECK(norms["samples"][0]["norm"].number() == norms["largest"].number());
    CHECK(norms["least"].number() <= norms["median"].number());
  }

  TEST_CASE("--per-sample-norms refuses batch norm before the first epoch") {
    const Workspace folder(true);
    std::string config = folder.read("blobs.json");
    const std::string layer = "\"ReLU\",";
    config.replace(config.find(layer), layer.size(),
                   layer + " {\"type\": \"BatchNorm1d\", \"num_features\": 16},");
    folder.write("c.json", config);
    const Outcome outcome = run_program_in(folder.path(), "run c.json --per-sample-norms");
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error, "layer '2' (BatchNorm1d) computes a sample from the others"));
    CHECK_FALSE(contains(outcome.error, "epoch"));
    const Outcome model = run_program_in(folder.path(), "run model.onnx --per-sample-norms");
    CHECK(model.code == 2);
  }

  TEST_CASE("F-315 a run leaves no recorded call alive, and says so when asked") {
    const Workspace folder(true);
    const Outcome outcome = run_program_in(folder.path(), "run blobs.json --quiet", "TENON_LIVE=1");
    CHECK(outcome.code == 0);
    CHECK(contains(outcome.error, "tenon: alive at exit: []\n"));
  }

  TEST_CASE("no output overwrites what the run reads, or another output") {
    const Workspace folder(true);
    const std::string whole = folder.read("blobs.json"), data = folder.read("blobs.csv");
    const auto run = [&](const std::string& output, const std::string& options = "") {
      std::string text = whole;
      const size_t at = text.find("\"output\"");
      folder.write("c.json", text.substr(0, at) + "\"output\": " + output + "}");
      return std::pair(run_program_in(folder.path(), "run c.json -q " + options),
                       run_program_in(folder.path(), "plan c.json"));
    };
    for (const char* output :
         {R"({"weights": "blobs.csv"})", R"({"weights": "./sub/../c.json"})",
          R"({"weights": "w.svg", "plot": "w.svg"})", R"({"plot": "curve.gif"})",
          R"({"history": "blobs.csv"})", R"({"checkpoint": "c.json"})"}) {
      CAPTURE(output);
      const auto [run_outcome, plan_outcome] = run(output);
      CHECK(run_outcome.code == 1);
      CHECK(contains(run_outcome.error, "c.json:"));
      CHECK(contains(run_outcome.error, ": cannot write '"));
      CHECK(plan_outcome.code == 1);
      CHECK(folder.read("blobs.csv") == data);
    }
    CHECK(
        contains(run("{}", "--plot p.gif").first.error, "the file name must end in .svg or .png"));
    CHECK(contains(run("{}", "--plot blobs.csv").first.error, "it is the file of the data"));
    CHECK(contains(run(R"({"weights": "w.svg"})", "--plot w.svg").first.error,
                   "\"weights\" is the same file"));
    CHECK_FALSE(std::filesystem::exists(folder.path("w.svg")));
  }

  TEST_CASE(
      "an evaluation with another seed or split is refused, without one the weights' is used") {
    const Workspace folder(true);
    const tenon::Json trained =
        run_program_in(folder.path(), "run blobs.json -q --json --seed 11").json();
    const std::string evaluate = "run blobs.json --json --evaluate blobs.safetensors";
    const tenon::Json own = run_program_in(folder.path(), evaluate).json();
    CHECK(own["seed"].integer() == 11);
    CHECK(own["test_loss"].number() == trained["test_loss"].number());
    CHECK(contains(run_program_in(folder.path(), evaluate + " --seed 12").error,
                   "'blobs.safetensors' was trained with seed 11: with seed 12"));
    std::string text = folder.read("blobs.json");
    text.replace(text.find("0.2}"), 4, "0.3}");
    folder.write("other.json", text);
    CHECK(
        contains(run_program_in(folder.path(), "run other.json --evaluate blobs.safetensors").error,
                 "was trained with the split"));
  }

  TEST_CASE("large losses are printed short, in JSON too") {
    const Workspace folder(true);
    std::string rows;
    for (int i = 0; i < 20; ++i)
      rows += std::to_string(i) + "e-1," + std::to_string(i % 5) + "e12\n";
    folder.write("big.csv", rows);
    folder.write("big.json", R"({"schema_version": 1, "data": {"path": "big.csv"},
      "model": {"type": "Linear", "in_features": 1, "out_features": 1}, "loss": "mse_loss",
      "optimizer": {"type": "sgd", "learning_rate": 1e-9}, "training": {"epochs": 1}})");
    const tenon::Json result = run_program_in(folder.path(), "run big.json -q --json").json();
    CHECK(result["train_loss"].number() > 1e23);
    CHECK(contains(run_program_in(folder.path(), "run big.json -q").out, "e+24\n"));
  }

  TEST_CASE("cross entropy of a single score is refused, with what to do") {
    const Workspace folder(true);
    std::string text = folder.read("blobs.json");
    text.replace(text.find("\"out_features\": 3"), 17, "\"out_features\": 1");
    folder.write("one.json", text);
    const Outcome outcome = run_program_in(folder.path(), "run one.json -q");
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error, "of a model with one output is always 0"));
    CHECK(contains(outcome.error, "binary_cross_entropy_with_logits"));
  }

  TEST_CASE("the monitor keeps the best epoch, and stops when its patience is at its end") {
    const Workspace folder(true);
    std::string text = folder.read("blobs.json");
    text.replace(text.find("\"epochs\": 12"), 12,
                 "\"epochs\": 400, \"monitor\": {\"goal\": \"minimize\", \"patience\": 3}");
    folder.write("c.json", text);
    const tenon::Json result = run_program_in(folder.path(), "run c.json -q --json").json();
    const int64_t epochs = result["epochs"].integer(), best = result["best_epoch"].integer();
    CHECK(epochs < 400);
    CHECK(epochs == best + 3);
    const tenon::Json line = result["history"][best - 1];
    CHECK(result["test_loss"].number() == line["test_loss"].number());
    for (int64_t i = 0; i < result["history"].size(); ++i)
      CHECK(result["history"][i]["test_loss"].number() >= line["test_loss"].number());
    const tenon::Json saved =
        run_program_in(folder.path(), "run c.json --json --evaluate blobs.safetensors").json();
    CHECK(saved["test_loss"].number() == line["test_loss"].number());
    text.replace(text.find("\"goal\": "), 8, "\"metric\": \"acuracy\", \"goal\": ");
    folder.write("c.json", text);
    CHECK(contains(run_program_in(folder.path(), "run c.json -q").error,
                   "/training/monitor/metric: no metric is named 'acuracy' (did you mean "
                   "'accuracy'?)"));
  }

  TEST_CASE("a run that is interrupted and resumed ends with the bits of an unbroken one") {
    const ResumableRun run("\"epochs\": 80, \"checkpoint\": {\"minutes\": 0.0001}");
    CHECK(std::count(run.history.begin(), run.history.end(), '\n') == 80);
    // Interrupted twice, at moments that vary.
    run.forget();
    for (const char* delay : {"0.3", "0.4"}) run.resume(std::string("timeout -s INT ") + delay);
    run.check_resumed();
    const Workspace& folder = run.folder;
    CHECK(contains(run_program_in(folder.path(), "run c.json -q --resume --seed 9").error,
                   "is of a training with seed 3, this one has seed 9"));
    std::string text = run.config;
    text.replace(text.find("0.5"), 3, "0.4");
    folder.write("c.json", text);
    CHECK(contains(run_program_in(folder.path(), "run c.json -q --resume").error,
                   "is of another training: its \"optimizer\" is "));
    CHECK(run_program_in(folder.path(), "run plane.json --resume").code == 2);
  }

  TEST_CASE("a run killed at any of 50 random moments ends with the bits of an unbroken one") {
    // A checkpoint after every batch, so that kills hit the writing of files, too.
    const ResumableRun run("\"epochs\": 12, \"checkpoint\": {\"minutes\": 1e-9}");
    // Moments within the time of the unbroken run, however fast the machine is.
    std::mt19937_64 random(11);
    std::uniform_real_distribution<double> part(0.05, 1);
    for (int kill = 0; kill < 50; ++kill) {
      CAPTURE(kill);
      run.forget();
      run.resume("timeout -s KILL " + std::to_string(run.seconds * part(random)));
      run.check_resumed();
    }
  }

  TEST_CASE("the best epoch is chosen by the validation part, the test part stays unseen") {
    const Workspace folder(true);
    std::string text = folder.read("blobs.json");
    const auto replace = [&](const std::string& from, const std::string& to) {
      text.replace(text.find(from), from.size(), to);
    };
    replace("{\"test\": 0.2}", R"({"test": 0.2, "validation": 0.1, "stratified": true})");
    replace("\"epochs\": 12", R"("epochs": 12, "monitor": {"goal": "minimize"})");
    replace("\"plot\": \"blobs.svg\"", R"("history": "history.jsonl")");
    folder.write("c.json", text);
    const Outcome plan = run_program_in(folder.path(), "plan c.json");
    CHECK(contains(plan.out, "63 to train, 9 to validate, 18 to test, stratified"));
    const tenon::Json result = run_program_in(folder.path(), "run c.json -q --json").json();
    CHECK(result["samples"].dump() == R"({"train":63,"validation":9,"test":18})");
    const tenon::Json best = result["history"][result["best_epoch"].integer() - 1];
    CHECK(result["validation"]["loss"].number() == best["validation_loss"].number());
    for (int64_t i = 0; i < result["history"].size(); ++i) {
      CHECK(result["history"][i]["validation_loss"].number() >= best["validation_loss"].number());
      CHECK_FALSE(result["history"][i]["test_loss"].defined());
    }
    CHECK(result["test_loss"].number() > 0);
    CHECK(result["test_loss"].number() != best["validation_loss"].number());
    const tenon::Json saved =
        run_program_in(folder.path(), "run c.json --json --evaluate blobs.safetensors").json();
    CHECK(saved["test_loss"].number() == result["test_loss"].number());
    const Outcome printed = run_program_in(folder.path(), "run c.json");
    CHECK(contains(printed.error, "  validation loss "));
    CHECK(contains(printed.out, "\n  validation accuracy "));
    CHECK(contains(printed.out, "tested on 18, validated on 9\n"));
    CHECK(contains(printed.out, "\n  test loss "));
  }

  TEST_CASE("validation and test samples come from their own files") {
    const Workspace folder(true);
    std::string text = folder.read("blobs.json"), rows = folder.read("blobs.csv");
    std::string first;
    for (size_t at = 0, row = 0; row < 20; ++row) {
      const size_t end = rows.find('\n', at) + 1;
      first += rows.substr(at, end - at);
      at = end;
    }
    folder.write("first.csv", first);
    text.replace(text.find("{\"test\": 0.2}"), 13,
                 R"({"test_path": "first.csv", "validation_path": "blobs.csv"})");
    folder.write("c.json", text);
    const tenon::Json result = run_program_in(folder.path(), "run c.json -q --json").json();
    CHECK(result["samples"].dump() == R"({"train":90,"validation":90,"test":20})");
    const std::string plan = run_program_in(folder.path(), "plan c.json").out;
    CHECK(contains(plan, "90 to train, 0 to test, "));
    CHECK(contains(plan, "first.csv, shuffled"));
    text.replace(text.find("blobs.safetensors"), 17, "first.csv");
    folder.write("c.json", text);
    CHECK(
        contains(run_program_in(folder.path(), "run c.json").error, "it is the file of the data"));
  }

  TEST_CASE("a normalisation is fitted to the training part and stored with the weights") {
    const Workspace folder(true);
    std::string text = folder.read("blobs.json");
    text.replace(text.find("\"scale\": 0.1"), 12, "\"normalize\": true");
    folder.write("c.json", text);
    const tenon::Json trained = run_program_in(folder.path(), "run c.json -q --json").json();
    CHECK(trained["accuracy"].number() >= 0.9);
    const tenon::Json saved =
        run_program_in(folder.path(), "run c.json --json --evaluate blobs.safetensors").json();
    CHECK(saved["test_loss"].number() == trained["test_loss"].number());
    // Alone a row has no deviation: its output shows where the normalisation comes from.
    CHECK(run_program_in(folder.path(), "predict c.json blobs.csv -o all.json").code == 0);
    const std::string rows = folder.read("blobs.csv");
    folder.write("one.csv", rows.substr(0, rows.find('\n') + 1));
    CHECK(run_program_in(folder.path(), "predict c.json one.csv -o one.json").code == 0);
    const tenon::Json all = tenon::Json::parse(folder.read("all.json"))["outputs"][0];
    const tenon::Json one = tenon::Json::parse(folder.read("one.json"))["outputs"][0];
    for (int64_t i = 0; i < 3; ++i)
      CHECK(one[i].number() == doctest::Approx(all[i].number()).epsilon(1e-5));
  }

  TEST_CASE("batches are transformed by seed, epoch and batch, evaluations are not") {
    const ResumableRun run(
        R"("epochs": 40, "checkpoint": {"minutes": 1e-9},
"transforms": [{"type": "noise", "std": 0.3}, {"type": "data.random_flip", "probability": 0.2}])");
    CHECK(contains(run_program_in(run.folder.path(), "plan c.json").out,
                   "noise(std=0.3), data.random_flip(probability=0.2)"));
    run.forget();
    run.resume("timeout -s KILL 0.3");
    run.check_resumed();
    const auto evaluate = [&] {
      return run_program_in(run.folder.path(), "run c.json --json --evaluate blobs.safetensors")
          .json()["test_loss"]
          .number();
    };
    CHECK(evaluate() == evaluate());
    const Workspace& folder = run.folder;
    std::string text = run.config;
    text.replace(text.find("\"std\": 0.3"), 10, "\"std\": 0.4");
    folder.write("c.json", text);
    run.forget();
    CHECK(run_program_in(folder.path(), "run c.json -q").code == 0);
    CHECK((folder.read("blobs.safetensors") != run.weights));
    text.replace(text.find("\"std\": 0.4"), 10, "\"sdt\": 0.4");
    folder.write("c.json", text);
    CHECK(contains(run_program_in(folder.path(), "plan c.json").error,
                   "/training/transforms/0/sdt: data.random_noise has no argument 'sdt'"));
  }

  TEST_CASE("runs are appended to a log, each line with its time, errors too") {
    const Workspace folder(true);
    CHECK(run_program_in(folder.path(), "run blobs.json -q --log run.log").code == 0);
    const std::string first = folder.read("run.log");
    CHECK(contains(first, "Z train blobs.json, seed 3\n"));
    CHECK(contains(first, "Z epoch 12/12  train loss "));
    CHECK(contains(first, "  accuracy "));
    CHECK(first.size() > 20);
    CHECK(first[10] == 'T');
    std::string text = folder.read("blobs.json");
    text.replace(text.find("\"plot\": \"blobs.svg\""), 19, "\"log\": \"run.log\"");
    text.replace(text.find("0.5"), 3, "1e30");
    folder.write("c.json", text);
    CHECK(run_program_in(folder.path(), "run c.json -q").code == 1);
    const std::string second = folder.read("run.log");
    CHECK(second.rfind(first, 0) == 0);
    CHECK(contains(second.substr(first.size()), "Z train c.json, seed 3\n"));
    CHECK(contains(second.substr(first.size()), "Z training diverged"));
  }

  TEST_CASE("the first op that makes a nan is named when asked for") {
    const Workspace folder(true);
    std::string text = folder.read("blobs.json");
    // Its results are infinite, which is not nan before the product with the next weights.
    text.replace(text.find("\"ReLU\""), 6, R"({"type": "Softplus", "beta": 0})");
    text.replace(text.find("\"epochs\": 12"), 12, "\"epochs\": 12, \"detect_anomaly\": true");
    folder.write("c.json", text);
    const Outcome outcome = run_program_in(folder.path(), "run c.json -q");
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error,
                   "nn.functional.linear() gave the first nan, from inputs without nan"));
    CHECK(contains(outcome.error, "/model/layers/2, in epoch 1, batch 1\n"));
    CHECK_FALSE(std::filesystem::exists(folder.path("blobs.safetensors")));
  }

  TEST_CASE("a flag asks for the first nan as well, of a checkpoint too") {
    const Workspace folder(true);
    std::string text = folder.read("blobs.json");
    text.replace(text.find("\"ReLU\""), 6, R"({"type": "Softplus", "beta": 0})");
    text.replace(text.find("\"plot\": \"blobs.svg\""), 19, "\"checkpoint\": \"run.checkpoint\"");
    folder.write("c.json", text);
    const std::string plain = run_program_in(folder.path(), "run c.json -q").error;
    CHECK_FALSE(contains(plain, "gave the first nan"));
    const Outcome asked = run_program_in(folder.path(), "run c.json -q --detect-anomaly");
    CHECK(asked.code == 1);
    CHECK(contains(asked.error, "nn.functional.linear() gave the first nan"));
  }

  TEST_CASE("a plot is written as PNG where its name says so") {
    const Workspace folder(true);
    const bool drawn = run_program("show plot.write_png").code == 0;
    const Outcome outcome = run_program_in(folder.path(), "run blobs.json -q --plot curve.png");
    CAPTURE(outcome.error);
    std::string text = folder.read("blobs.json");
    text.replace(text.find("blobs.svg"), 9, "curve.png");
    folder.write("c.json", text);
    const Outcome plan = run_program_in(folder.path(), "plan c.json");
    if (!drawn) {
      CHECK(outcome.code == 1);
      CHECK(contains(outcome.error, "no plugin provides 'plot.write_png'; install librsvg2-dev"));
      CHECK(contains(plan.error, "no plugin provides 'plot.write_png'; install librsvg2-dev"));
      return;
    }
    CHECK(outcome.code == 0);
    CHECK(plan.code == 0);
    CHECK(contains(plan.out, "plot"));
    const std::string png = folder.read("curve.png");
    CHECK(png.substr(0, 8) == "\x89PNG\r\n\x1a\n");
    CHECK(png.size() > 10000);
    // Nothing else is left beside it.
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
      CHECK(entry.path().filename().string().find("curve.png.") == std::string::npos);
    text.replace(text.find("[\"math\""), 7, R"([{"name": "plot", "load": "never"}, "math")");
    folder.write("off.json", text);
    for (const char* command : {"run off.json -q", "plan off.json"})
      CHECK(contains(run_program_in(folder.path(), command).error,
                     "no plugin provides 'plot.write_png'; install librsvg2-dev"));
  }

  TEST_CASE("weights that cannot be written are kept in another folder") {
    const Workspace folder(true);
    // /dev/full takes no byte; a symbolic link makes it look like a file of the folder.
    std::string text = folder.read("blobs.json");
    text.replace(text.find("\"blobs.safetensors\""), 19, "\"/dev/full\"");
    folder.write("c.json", text);
    const Outcome outcome = run_program_in(folder.path(), "run c.json -q");
    CHECK(outcome.code == 1);
    const size_t at = outcome.error.find("the weights are kept in '");
    REQUIRE(at != std::string::npos);
    const size_t begin = at + 25;
    const std::string kept = outcome.error.substr(begin, outcome.error.find('\'', begin) - begin);
    CHECK(std::filesystem::file_size(kept) > 500);
    std::filesystem::remove(kept);
  }

  TEST_CASE("predict writes the outputs for new samples") {
    const Workspace folder(true);
    CHECK(run_program_in(folder.path(), "run blobs.json -q").code == 0);
    CHECK(run_program_in(folder.path(), "predict blobs.json blobs.csv -o p.csv").code == 0);
    const std::string csv = folder.read("p.csv");
    CHECK(csv.rfind("class,score_0,score_1,score_2\n", 0) == 0);
    CHECK(std::count(csv.begin(), csv.end(), '\n') == 91);
    folder.write("new.csv", "1,2,3,4\n5,6,7,8\n");
    CHECK(run_program_in(folder.path(), "predict blobs.json new.csv -o p.json").code == 0);
    CHECK(tenon::Json::parse(folder.read("p.json"))["outputs"].size() == 2);
    CHECK(run_program_in(folder.path(), "predict blobs.json blobs.csv -o p.npy").code == 0);
    CHECK(run_program_in(folder.path(), "predict blobs.json blobs.csv -o p.txt").code == 2);
    CHECK(contains(run_program_in(folder.path(), "predict blobs.json blobs.csv -o blobs.csv").error,
                   "UsageError") == false);
    CHECK(run_program_in(folder.path(), "predict blobs.json blobs.csv -o blobs.csv").code == 1);
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
          "tenon: IOError: cannot write 'nowhere/curve.svg': 'nowhere' is not an existing folder; "
          "create it\n");
    CHECK_FALSE(std::filesystem::exists(folder.path("blobs.safetensors")));
  }

  TEST_CASE("a config without a model has nothing to run") {
    const Workspace folder;
    folder.write("plugins.json", R"({"schema_version": 1, "plugins": ["math"]})");
    const Outcome outcome = run_program_in(folder.path(), "run plugins.json");
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error,
                   "ConfigError: plugins.json: cannot run: the config has no \"data\""));
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
    CHECK(contains(outcome.error, "'blobs.safetensors' does not fit the model: "));
  }

  TEST_CASE("predict names the weights that do not fit") {
    const Workspace folder(true);
    CHECK(run_program_in(folder.path(), "run blobs.json -q").code == 0);
    CHECK(
        contains(run_program_in(folder.path(),
                                "predict plane.json plane.csv -o p.csv --weights blobs.safetensors")
                     .error,
                 "'blobs.safetensors' does not fit the model"));
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

  TEST_CASE("Ctrl-C ends the training and saves nothing") {
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
