// Configs of trainings: sections, what is wrong with them, and their JSON Schema.
#include "support.hpp"

TEST_SUITE("training config") {
  TEST_CASE("sections are normalized with their defaults") {
    const Folder folder;
    const Json config = training::read_config(
        folder.write("c.json", R"({"schema_version": 1, "data": {"path": "a.csv", "header": true},
          "model": {"type": "Sequential", "layers": ["ReLU"]}, "loss": "mse_loss",
          "metrics": ["f1"], "optimizer": {"type": "sgd", "learning_rate": 1},
          "training": {"epochs": 3, "schedule": ["cosine", {"type": "warmup", "warmup_steps": 2}]},
          "output": {"weights": "w.safetensors"}})"));
    CHECK(config["data"].dump() ==
          R"({"path":")" + folder.file("a.csv") + R"(","scale":1.0,"header":true})");
    CHECK(config["split"].dump() == R"({"test":0.2,"shuffle":true})");
    CHECK(config["model"]["layers"].dump() == R"([{"type":"ReLU"}])");
    CHECK(config["loss"].dump() == R"({"type":"mse_loss"})");
    CHECK(config["metrics"].dump() == R"([{"type":"f1"}])");
    CHECK(config["training"].dump() ==
          R"({"epochs":3,"batch_size":64,"schedule":[{"type":"cosine"},)"
          R"({"type":"warmup","warmup_steps":2}],"checkpoint":{}})");
    CHECK(config["output"]["weights"].text() == folder.file("w.safetensors"));
  }

  TEST_CASE("faults of keys are reported at once, with those of the host") {
    const Folder folder;
    const std::string path = folder.write("c.json", R"({"schema_version": 1, "seed": -1,
"data": {"path": "a.csv", "shape": []}, "split": {"tset": 0.5},
"training": {"epochs": 0}})");
    const std::string error = refusal([&] { training::read_config(path); });
    for (const char* text : {"has 5 faults", "c.json:1:31: /seed: found -1",
                             "c.json:2:36: /data/shape: found an array",
                             "/split/tset: unknown key 'tset', expected 'test', 'validation', ",
                             "/training: found without 'model', 'loss' and 'optimizer'",
                             "/training/epochs: found 0, expected an integer of at least 1"}) {
      CAPTURE(text);
      CAPTURE(error);
      CHECK(contains(error, text));
    }
  }

  TEST_CASE("an outline finds what is wrong with ops of any plugin, without running them") {
    use_trainers();
    const Folder folder;
    const Json config = training::read_config(folder.write("c.json", line_config(R"(
"loss": {"type": "trainers.squares", "wieght": 2},
"metrics": ["trainers.worst", {"type": "top_k", "k": "a"}],
"optimizer": {"type": "trainers.lion", "learning_rate": 0.1, "betta": 1},
"training": {"epochs": 1, "schedule": {"type": "trainers.halving", "after": 1.5},
             "clip": ["trainers.zero", "nrom"]})")));
    tenon::config::apply(config, tenon::EagerPlugins::wait);
    const training::Outline outline = training::outline(config);
    std::string all;
    for (const std::string& fault : outline.faults) all += fault + "\n";
    CAPTURE(all);
    CHECK(outline.faults.size() == 5);
    for (const char* text :
         {"/loss/wieght: trainers.squares has no argument 'wieght' (did you mean 'weight'?)",
          "/metrics/1/k: metric.top_k takes 'int k', found \"a\"",
          "/optimizer/betta: trainers.lion_step_ has no argument 'betta' (did you mean 'beta'?)",
          "/training/schedule/after: trainers.halving takes 'int after', found 1.5",
          "/training/clip/1/type: no clip is named 'nrom' (did you mean 'norm'?)"}) {
      CAPTURE(text);
      CHECK(contains(all, text));
    }
    CHECK(contains(refusal([&] { training::require_sound(config); }), "5 faults\n  "));
  }

  TEST_CASE("examples have every key of their object, and are read without a fault") {
    const Folder folder;
    const Json schema = training::config_schema(false);
    // The place of an object in a config, with the keys that it needs beside it; @ is the example.
    const std::string train = R"("data": {"path": "a.csv"}, "model": "ReLU", "loss": "mse_loss",
      "optimizer": "sgd", "training": )";
    const std::vector<std::pair<std::string, std::string>> places = {
        {"plugin", R"("plugins": [@])"},
        {"key", R"("keys": [@])"},
        {"disable", R"("ops": {"disable": [@]})"},
        {"preference", R"("ops": {"prefer": {"mm": [@]}})"},
        {"ops", R"("ops": @)"},
        {"rewrites", R"("rewrites": @)"},
        {"type", R"("types": {"A": @})"},
        {"fallback_ops", R"("types": {"A": {"fallback_ops": @}})"},
        {"data", R"("data": @)"},
        {"split", R"("data": {"path": "a.csv"}, "split": @)"},
        {"module", R"("model": @)"},
        {"load", R"("model": {"type": "ReLU", "load": @})"},
        {"input", R"("model": "ReLU", "input": @)"},
        {"loss", R"("model": "ReLU", "loss": @)"},
        {"metric", R"("model": "ReLU", "metrics": [@])"},
        {"optimizer", R"("model": "ReLU", "optimizer": @)"},
        {"schedule", train + R"({"epochs": 1, "schedule": @})"},
        {"clip", train + R"({"epochs": 1, "clip": @})"},
        {"sampler", train + R"({"epochs": 1, "sampler": @})"},
        {"transform", train + R"({"epochs": 1, "transforms": [@]})"},
        {"monitor", train + R"({"epochs": 1, "monitor": @})"},
        {"checkpoint", train + R"({"epochs": 1, "checkpoint": @})"},
        {"training", train + "@"},
        {"distributed", train + R"({"epochs": 1}, "distributed": @)"},
        {"output", R"("model": "ReLU", "output": @)"}};
    folder.write("my_ops.so", "");
    CHECK(static_cast<int64_t>(places.size()) == schema["definitions"].size());
    const auto check = [&](const std::string& name, const Json& object, const std::string& form) {
      CAPTURE(name);
      std::string given;
      for (int64_t i = 0; i < object["examples"].size(); ++i) {
        const Json example = object["examples"][i];
        for (int64_t k = 0; k < example.size(); ++k) given += " " + example.key(k) + " ";
        std::string text = form;
        text.replace(text.find('@'), 1, example.dump());
        CAPTURE(text);
        CHECK_NOTHROW(training::read_config(folder.write("c.json", text)));
      }
      for (int64_t i = 0; i < object["properties"].size(); ++i) {
        CAPTURE(object["properties"].key(i));
        CHECK(contains(given, " " + object["properties"].key(i) + " "));
      }
    };
    for (const auto& [name, form] : places) {
      const Json definition = schema["definitions"][name];
      REQUIRE(definition.defined());
      check(name, definition["anyOf"].defined() ? definition["anyOf"][1] : definition,
            R"({"schema_version": 1, )" + form + "}");
    }
    // One example of the whole config has the host's keys, one those of trainings.
    std::string given;
    for (int64_t i = 0; i < schema["examples"].size(); ++i) given += schema["examples"][i].dump();
    for (int64_t i = 0; i < schema["properties"].size(); ++i)
      CHECK(contains(given, "\"" + schema["properties"].key(i) + "\":"));
  }

  TEST_CASE("with what is installed the schema knows every optimizer's keywords") {
    use_trainers();
    const Json schema = training::config_schema(true);
    const Json choices = schema["definitions"]["optimizer"]["anyOf"];
    bool adam = false, lion = false;
    for (int64_t i = 0; i < choices.size(); ++i) {
      const Json names = choices[i]["properties"]["type"]["enum"];
      const Json keys = choices[i]["properties"];
      if (!names.defined()) continue;  // the short form
      if (names.dump() == R"(["adam","optim.adam_step_"])") {
        adam = true;
        CHECK(keys["learning_rate"].dump() == R"({"type":"number"})");
        CHECK(keys["betas"].defined());
        CHECK_FALSE(keys["first_moment"].defined());
        CHECK_FALSE(keys["step"].defined());
      }
      if (names.dump() == R"(["trainers.lion_step_"])") lion = keys["beta"].defined();
    }
    CHECK(adam);
    CHECK(lion);
    CHECK(schema["definitions"]["module"]["anyOf"].size() > 5);
  }
}
