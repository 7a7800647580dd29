// tenon plan: nothing runs, everything that can be seen is seen.
#include <doctest/doctest.h>

#include <tenon/state/tensor_file.hpp>
#include <tenon/tenon.hpp>

#include "program.hpp"

TEST_SUITE("plan") {
  TEST_CASE("a plan prints plugins, layers and settings") {
    const Workspace folder(true);
    const Outcome outcome = run_program_in(folder.path(), "plan blobs.json");
    CHECK(outcome.error == "");
    CHECK(outcome.code == 0);
    for (const char* line : {
             "plan of blobs.json\n",
             "config, model, loss",
             "\n  model  Sequential                                  nn\n",
             "\n  0        Linear    in_features=4, out_features=16  nn\n",
             "\n  1        ReLU                                      nn\n",
             "\n  samples    90 of shape [4], one target each\n",
             "\n  split      72 to train, 18 to test, shuffled\n",
             "\n  loss       nn.functional.cross_entropy(label_smoothing=0.01)\n",
             "\n  training   12 epochs of 5 steps, batches of 16, learning rate cosine\n",
             "\nshapes for input [16, 4]\n",
             "\n  0      Linear      [16, 16]          80    320          1,024\n",
             "\nno faults found\n",
         }) {
      CAPTURE(line);
      CHECK(contains(outcome.out, line));
    }
  }

  TEST_CASE("--memory prints what backward keeps, with and without recompute") {
    const Workspace folder(true);
    const std::string kept = run_program_in(folder.path(), "plan blobs.json --memory").out;
    // The result of ReLU, which the second Linear gets: 16 samples of 16 numbers.
    CHECK(contains(kept, "\n  kept for backward at the same time, at most: 1,024 bytes\n"));
    CHECK_FALSE(contains(kept, "recompute"));
    std::string config = folder.read("blobs.json");
    const std::string layer = "\"ReLU\",";
    const std::string again =
        R"({"type": "Sequential", "layers": ["Tanh", "GELU", "Tanh", "GELU"], "recompute": true},)";
    config.replace(config.find(layer), layer.size(), again + again);
    folder.write("c.json", config);
    const std::string text = run_program_in(folder.path(), "plan c.json --memory").out;
    CHECK(contains(text, "at most: 6,144 bytes\n  without \"recompute\": 9,216 bytes\n"));
    CHECK(contains(text, "\n  computed again: 1, 2\n"));
    const tenon::Json memory =
        run_program_in(folder.path(), "plan c.json --memory --json").json()["memory"];
    CHECK(memory["recomputed"][0].text() == "1");
    CHECK(memory["peak_bytes"].integer() == 6144);
    CHECK(memory["kept_bytes"].integer() == 9216);
    CHECK(run_program_in(folder.path(), "plan c.json --memory --no-shapes").code == 2);
  }

  TEST_CASE("a plan for a device prints the bytes on it and on the CPU") {
    const Workspace folder(true);
    std::string config = folder.read("blobs.json");
    const std::string key = "\"training\": {";
    config.replace(config.find(key), key.size(), key + "\"device\": \"sim:1\", ");
    folder.write("c.json", config);
    CHECK(contains(run_program_in(folder.path(), "plan c.json --memory").out,
                   "\n  devices    sim:1: 524 bytes of model, 1,024 bytes of backward\n"
                   "             cpu: 1,800 bytes of samples\n"));
    const tenon::Json devices =
        run_program_in(folder.path(), "plan c.json --json").json()["devices"];
    CHECK(devices[0]["device"].text() == "sim:1");
    CHECK(devices[1]["bytes"].integer() == 1800);
  }

  TEST_CASE("a last batch that the model refuses is predicted, and drop_last takes it out") {
    const Workspace folder(true);
    // 72 samples are for training.
    const auto plan = [&](const std::string& training) {
      folder.write("c.json", R"({"schema_version": 1, "data": {"path": "blobs.csv", "targets": -1},
"split": {"test": 0.2}, "loss": "cross_entropy", "optimizer": {"type": "sgd", "learning_rate": 0.1},
"model": {"type": "Sequential", "layers": [{"type": "BatchNorm1d", "num_features": 4},
          {"type": "Linear", "in_features": 4, "out_features": 3}]},
"training": {"epochs": 1, )" + training +
                                 "}}");
      return run_program_in(folder.path(), "plan c.json");
    };
    const Outcome refused = plan(R"("batch_size": 71)");
    CHECK(refused.code == 1);
    CHECK(contains(refused.error, "layer '0' (BatchNorm1d): batch_norm(): more than 1 element"));
    CHECK(contains(refused.error, "72 samples in batches of 71 leave 1 for it"));
    CHECK(plan(R"("batch_size": 70)").code == 0);
    const Outcome dropped = plan(R"("batch_size": 71, "drop_last": true)");
    CHECK(dropped.code == 0);
    CHECK(contains(dropped.out, "1 epoch of 1 step, batches of 71"));
  }

  TEST_CASE("JSON has the same") {
    const Workspace folder(true);
    const tenon::Json plan = run_program_in(folder.path(), "plan blobs.json --json").json();
    CHECK(plan["config"].text() == "blobs.json");
    CHECK(plan["plugins"].size() == 4);
    CHECK(plan["plugins"][0]["state"].text() == "indexed");
    CHECK(plan["model"].size() == 4);
    CHECK(plan["model"][1]["type"].text() == "Linear");
    CHECK(plan["summary"]["inputs"].dump() == "[[16,4]]");
    CHECK(plan["summary"]["layers"].size() == 4);
    CHECK(plan["summary"]["layers"][1]["outputs"].dump() == "[[16,16]]");
    CHECK(plan["summary"]["layers"][1]["parameters"].integer() == 80);
    CHECK(plan["summary"]["multiply_adds"].integer() ==
          plan["summary"]["layers"][1]["multiply_adds"].integer() +
              plan["summary"]["layers"][3]["multiply_adds"].integer());
    CHECK(plan["data"]["shape"].dump() == "[4]");
    CHECK(plan["data"]["targets"].dump() == "[]");
    CHECK(plan["data"]["train"].integer() == 72);
    CHECK(plan["data"]["test"].integer() == 18);
    CHECK(plan["faults"].size() == 0);
  }

  TEST_CASE("--providers lists who would run each op, and who declines it for these shapes") {
    const Workspace folder;
    const auto plan = [&](int size, const std::string& rest) {
      folder.write("c.json", R"({"schema_version": 1, "input": {"shape": [)" +
                                 std::to_string(size) + R"(]}, "model":
          {"type": "Graph", "nodes": {"scaled": {"op": "ranked.scale"}}}})");
      return run_program_in(folder.path(),
                            "--plugin-path " TENON_FIXTURES "/ranked plan c.json" + rest);
    };
    const Outcome small = plan(4, " --providers");
    CHECK(small.code == 0);
    CHECK(contains(small.out,
                   "\nproviders\n"
                   "  LAYER  OP            CALLS  PLUGIN        DECLINED BY\n"
                   "  model  ranked.scale      1  ranked_small  -\n"));
    const Outcome large = plan(5, " --providers");
    CHECK(contains(large.out,
                   "  model  ranked.scale      1  ranked_general  ranked_small: more "
                   "than 4 elements\n"));
    const tenon::Json json = plan(5, " --providers --json").json();
    CHECK(json["summary"]["ops"][0].dump() ==
          R"({"layer":"","op":"ranked.scale","calls":1,"provider":"ranked_general",)"
          R"("declined":[{"plugin":"ranked_small","reason":"more than 4 elements"}]})");
    CHECK_FALSE(contains(plan(5, "").out, "\nproviders\n"));
    CHECK(plan(5, " --providers --no-shapes").code == 2);
  }

  TEST_CASE("--prepared lists the calls of the prepared model, with their memory") {
    const Workspace folder;
    folder.write("c.json", R"({"schema_version": 1, "input": {"shape": [4]}, "model":
        {"type": "Graph", "nodes": {"ones": {"op": "ones", "inputs": [4]},
         "unused": {"op": "exp", "inputs": ["input"]},
         "first": {"op": "add", "inputs": ["input", "ones"]}, "second": {"op": "tanh"},
         "third": {"op": "neg"}}}})");
    const Outcome text = run_program_in(folder.path(), "plan c.json --prepared");
    CHECK(text.code == 0);
    CHECK(contains(text.out,
                   "\nprepared for f32[1, 4]\n"
                   "  OP    PLUGIN  BYTES  MEMORY\n"
                   "  add   math       16  shared\n"
                   "  tanh  math       16  in place\n"
                   "  neg   math       16  its own\n"
                   "  computed once, from constants: ones\n"
                   "  not computed, since nothing reads it: exp\n"
                   "  bytes of results: 48, with shared memory 80\n"));
    const tenon::Json json =
        run_program_in(folder.path(), "plan c.json --prepared --json").json()["prepared"];
    CHECK(json["calls"].size() == 3);
    CHECK(json["calls"][1]["memory"].text() == "in_place");
    CHECK(json["folded"].dump() == R"(["ones"])");
    CHECK(json["reason"].text() == "");
    CHECK(run_program_in(folder.path(), "plan c.json --prepared --no-shapes").code == 2);
  }

  TEST_CASE("all faults are reported at once, each with its place") {
    const Workspace folder(true);
    const Outcome outcome = run_program_in(folder.path(), "plan faults.json");
    CHECK(outcome.code == 1);
    const std::string csv = folder.path("blobs.csv").string();
    CHECK(
        outcome.error ==
        "tenon: ConfigError: 7 faults\n"
        "  faults.json:3:11: /data: csv(): " +
            csv +
            ": targets names column 9, the file has columns 0 to 4 (-1 is the last)\n"
            "  faults.json:7:59: /model/layers/0/out_feature: Linear has no argument 'out_feature' "
            "(did you mean "
            "'out_features'?); it takes in_features, out_features, bias\n"
            "  faults.json:7:7: /model/layers/0: Linear needs 'int out_features'\n"
            "  faults.json:8:16: /model/layers/1/type: no module is named 'Relu' (did you mean "
            "'ReLU'?)\n"
            "  faults.json:9:41: /model/layers/2/in_features: Linear takes 'int in_features', "
            "found "
            "\"many\"\n"
            "  faults.json:12:64: /loss/smoothing: nn.functional.cross_entropy has no "
            "argument "
            "'smoothing'; "
            "it takes weight, ignore_index, reduction, label_smoothing\n"
            "  faults.json:15:25: /output/weights: cannot write '" +
            folder.path("nowhere/weights.safetensors").string() + "': '" +
            folder.path("nowhere").string() + "' is not an existing folder; create it\n");
    const Outcome json = run_program_in(folder.path(), "plan faults.json --json");
    CHECK(json.code == 1);
    CHECK(json.json()["faults"].size() == 7);
  }

  TEST_CASE("plan reports what the reader of configs refuses") {
    const Workspace folder(true);
    const Outcome outcome = run_program_in(folder.path(), "plan unreadable.json");
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error, "unreadable.json:3:3: /plugin: unknown key 'plugin'"));
    CHECK(contains(outcome.error, "unreadable.json:4:26: /training/epochs: found 0"));
    CHECK(run_program_in(folder.path(), "plan missing.json").code == 1);
  }

  TEST_CASE("eager plugins are not loaded either") {
    const Workspace folder;
    std::filesystem::copy(std::string(TENON_FIXTURES) + "/init_fails.so", folder.path());
    folder.write(
        "eager.json",
        R"({"schema_version": 1, "plugins": [{"path": "init_fails.so", "load": "eager"}]})");
    const Outcome outcome = run_program_in(folder.path(), "plan eager.json --json");
    CHECK(outcome.code == 0);
    const tenon::Json plugin = outcome.json()["plugins"][0];
    CHECK(plugin["state"].text() == "indexed");
    CHECK(plugin["load"].text() == "eager");
    CHECK(run_program_in(folder.path(), "run eager.json").code == 1);
  }

  TEST_CASE("a shape that samples do not fill is a fault") {
    const Workspace folder(true);
    folder.write("shape.json",
                 R"({"schema_version": 1, "data": {"path": "blobs.csv", "shape": [1, 3]}})");
    const Outcome outcome = run_program_in(folder.path(), "plan shape.json");
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error, "/data/shape: [1,3] holds 3 numbers, but a sample of"));
  }

  TEST_CASE("a plan says what it leaves to the run") {
    const Workspace folder(true);
    folder.write("c.json", R"({"schema_version": 1, "model": {"type": "Sequential"},
      "loss": {"type": "nn.functional.cross_entropy", "reduction": "maximum"}})");
    const Outcome outcome = run_program_in(folder.path(), "plan c.json");
    CHECK(outcome.code == 0);
    CHECK(
        contains(outcome.out,
                 "what only plugin code knows, such as ranges and choices, is checked when a run"));
    const tenon::Json plan = run_program_in(folder.path(), "plan c.json --json").json();
    CHECK(plan["checked_by_run"].dump() == R"(["/loss"])");
    const Outcome facts = run_program_in(folder.path(), "plan c.json --no-shapes --json");
    CHECK(facts.json()["checked_by_run"].dump() == R"(["/model","/loss"])");
    CHECK_FALSE(facts.json()["summary"].defined());
  }

  TEST_CASE("F-243 layers that do not fit are faults before anything runs") {
    const Workspace folder(true);
    folder.write("misfit.json", R"({"schema_version": 1, "model": {"type": "Sequential", "layers": [
      {"type": "Linear", "in_features": 4, "out_features": 3},
      {"type": "Linear", "in_features": 4, "out_features": 2}]}, "data": {"path": "blobs.csv"}})");
    const Outcome outcome = run_program_in(folder.path(), "plan misfit.json");
    CHECK(outcome.code == 1);
    CHECK(
        contains(outcome.error,
                 "misfit.json:3:7: /model/layers/1: layer '1' (Linear): linear(): 'input' of shape "
                 "[1, 3] does not fit 'weight' of shape [2, 4]"));
    CHECK(run_program_in(folder.path(), "plan misfit.json --no-shapes").code == 0);
    const Outcome json = run_program_in(folder.path(), "plan misfit.json --json");
    CHECK(json.code == 1);
    CHECK(json.json()["faults"].size() == 1);
  }

  // The fixture trainers has two readers.
  TEST_CASE("a plan has the shapes of samples from any reader") {
    const Workspace folder;
    const auto plan = [&](const std::string& data) {
      folder.write("c.json", R"({"schema_version": 1, "search_paths": [")" TENON_FIXTURES
                             R"(/trainers"], "data": )" +
                                 data + "}");
      return run_program_in(folder.path(), "plan c.json --json").json()["data"];
    };
    const tenon::Json line = plan(R"({"type": "trainers.line", "count": 40})");
    CHECK(line["samples"].integer() == 40);
    CHECK(line["shape"].dump() == "[1]");
    CHECK(line["train"].integer() == 32);
    folder.write("a.points", "1 2\n3 4\n5 6\n");
    CHECK(plan(R"({"path": "a.points"})")["samples"].integer() == 3);
    CHECK(plan(R"({"path": "a.points", "type": "points"})")["samples"].integer() == 3);
    folder.write("t.csv", "a;b;c\n1;2;3\n4;5;6\n");
    CHECK(plan(R"({"path": "t.csv", "targets": ["a", "c"]})")["shape"].dump() == "[1]");
    CHECK(plan(R"({"path": "t.csv", "targets": ["a", "c"]})")["targets"].dump() == "[2]");
    CHECK(plan(R"({"path": "t.csv", "type": "csv", "shape": [2, 1]})")["shape"].dump() == "[2,1]");
    for (const tenon::Tensor& tensor : {tenon::zeros({6, 2, 3}), tenon::zeros({6})})
      tenon::Op("data.write_npy")
          .call<void>(folder.path(tensor.dim() == 1 ? "y.npy" : "x.npy").string(), tensor);
    const tenon::Json arrays = plan(R"({"path": "x.npy", "targets": "y.npy"})");
    CHECK(arrays["samples"].integer() == 6);
    CHECK(arrays["shape"].dump() == "[2,3]");
    tenon::state::save_tensors(folder.path("z.safetensors"), {{"inputs", tenon::zeros({4, 5})},
                                                              {"targets", tenon::zeros({4, 2})}});
    const tenon::Json named = plan(R"({"path": "z.safetensors"})");
    CHECK(named["shape"].dump() == "[5]");
    CHECK(named["targets"].dump() == "[2]");
  }

  TEST_CASE("without shapes no reader runs, but a missing file is a fault") {
    const Workspace folder(true);
    const auto plan = [&](const std::string& path) {
      folder.write("c.json", R"({"schema_version": 1, "data": {"path": ")" + path + "\"}}");
      return run_program_in(folder.path(), "plan c.json --no-shapes --json").json();
    };
    CHECK(plan("blobs.csv")["data"]["samples"].integer() == -1);
    CHECK(plan("blobs.csv")["checked_by_run"].dump() == R"(["/data"])");
    CHECK(contains(plan("gone.csv")["faults"][0].text(), "No such file or directory"));
  }

  TEST_CASE("an op of one tensor is not a reader") {
    const Workspace folder(true);
    folder.write("c.json", R"({"schema_version": 1,
      "data": {"path": "blobs.csv", "type": "data.read_csv"}})");
    CHECK(
        contains(run_program_in(folder.path(), "plan c.json").error,
                 "/data/type: data.read_csv is not a data reader, which gives inputs and targets"));
  }

  TEST_CASE("a missing file of data is a fault") {
    const Workspace folder;
    folder.write("gone.json", R"({"schema_version": 1, "data": {"path": "gone.csv"}})");
    CHECK(contains(run_program_in(folder.path(), "plan gone.json").error,
                   "gone.csv': No such file or directory"));
  }

  TEST_CASE("F-307 a plan says what is ranked, switched off, and how types are treated") {
    const Workspace folder;
    folder.write("c.json", R"({"schema_version": 1, "search_paths": [")" TENON_FIXTURES R"(/types"],
      "ops": {"prefer": {"add*": "math"},
              "disable": ["exp2", {"op": "*[ScalarTensor]", "plugin": "types"}]},
      "types": {"D": {"fallback": "decline", "covers": ["add"]}}})");
    const Outcome outcome = run_program_in(folder.path(), "plan c.json");
    CHECK(outcome.error == "");
    for (const char* line : {
             "\n  prefer   math for add*\n",
             "\n  disable  exp2\n",
             "\n           *[ScalarTensor] of types\n",
             "\n  types    D(fallback=\"decline\", covers=[\"add\"])\n",
         }) {
      CAPTURE(line);
      CHECK(contains(outcome.out, line));
    }
    const tenon::Json plan = run_program_in(folder.path(), "plan c.json --json").json();
    CHECK(plan["ops"]["disable"][0]["op"].text() == "exp2");
    CHECK(plan["types"]["D"]["fallback"].text() == "decline");
  }
}
