// The training loop, from configs and from code.
#include <tuple>

#include <tenon/config/config.hpp>
#include <tenon/module_hooks.hpp>

#include "support.hpp"

namespace {

struct Run {
  tenon::Module model;
  std::vector<training::Epoch> history;
};

Run train(const std::string& text) {
  use_trainers();
  const Folder folder;
  const Json config = training::read_config(folder.write("c.json", text));
  tenon::config::apply(config);
  tenon::seed_generator(5);
  training::Dataset dataset = training::load_dataset(config["data"], config["split"]);
  tenon::Module model = tenon::create_module(config["model"]);
  training::fit_labels(config, model, dataset);
  training::Trainer trainer(config, model, dataset);
  CHECK(trainer.run());
  return {model, trainer.history()};
}

std::string bits(const tenon::Module& model) {
  std::string text;
  for (const auto& [name, tensor] : training::module_state(model, "")) {
    const Tensor whole = tensor.detach().contiguous();
    text.append(static_cast<const char*>(whole.view_record().data),
                static_cast<size_t>(whole.numel() * tenon::element_size(whole.dtype())));
  }
  return text;
}

}  // namespace

TEST_SUITE("trainer") {
  TEST_CASE("a training of another plugin's parts learns, and measures") {
    const Run run = train(line_config(R"("loss": "trainers.squares",
"metrics": ["trainers.worst", {"type": "metric.r2_score", "name": "fit"}],
"optimizer": {"type": "trainers.lion", "learning_rate": 0.05},
"training": {"epochs": 60, "batch_size": 8,
             "schedule": [{"type": "trainers.halving", "after": 10},
                          {"type": "warmup", "warmup_steps": 4}]})"));
    REQUIRE(run.history.size() == 60);
    CHECK(run.history.back().train_loss < run.history.front().train_loss / 20);
    REQUIRE(run.history.back().score);
    CHECK(*run.history.back().score->find("worst") < 0.3);
    CHECK(*run.history.back().score->find("fit") > 0.9);
    CHECK_FALSE(run.history.back().score->find("nothing"));
  }

  TEST_CASE("clipping runs before the step") {
    const Run run = train(line_config(R"("loss": "mse_loss", "split": {"test": 0},
"optimizer": {"type": "sgd", "learning_rate": 0.1},
"training": {"epochs": 2, "clip": "trainers.zero"})"));
    CHECK(run.history[0].train_loss == doctest::Approx(run.history[1].train_loss));
    CHECK_FALSE(run.history[0].score);
  }

  TEST_CASE("every shipped optimizer and schedule learns the line") {
    for (const char* optimizer :
         {R"("type": "sgd", "learning_rate": 0.3)",
          R"("type": "sgd", "learning_rate": 0.1, "momentum": 0.9, "nesterov": true)",
          R"("type": "adam", "learning_rate": 0.1)", R"("type": "adamw", "learning_rate": 0.1)",
          R"("type": "rmsprop", "learning_rate": 0.02)",
          R"("type": "adagrad", "learning_rate": 0.5)"}) {
      for (const char* schedule : {R"("cosine")", R"("linear")", R"("one_cycle")",
                                   R"({"type": "step", "every": 30})", R"("constant")"}) {
        CAPTURE(optimizer);
        CAPTURE(schedule);
        const Run run = train(line_config(std::string(R"("loss": "mse_loss", "optimizer": {)") +
                                          optimizer + R"(}, "training": {"epochs": 80,
"batch_size": 8, "clip": {"type": "norm", "maximum": 5}, "schedule": )" +
                                          schedule + "}"));
        CHECK(run.history.back().train_loss < 0.05);
      }
    }
  }

  // Buffers, dropout, shuffling and the optimizer's states: all of them change in a step.
  TEST_CASE("interrupted at any module of any batch, a training resumes to the same bits") {
    use_trainers();
    const Folder folder;
    const Json config = training::read_config(folder.write("c.json", R"({"schema_version": 1,
"data": {"type": "trainers.line", "count": 40}, "model": {"type": "Sequential", "layers": [
{"type": "Linear", "in_features": 1, "out_features": 4}, {"type": "BatchNorm1d", "num_features": 4},
{"type": "Dropout", "p": 0.3}, {"type": "Linear", "in_features": 4, "out_features": 1}]},
"loss": "mse_loss", "optimizer": {"type": "adam", "learning_rate": 0.01},
"training": {"epochs": 3, "batch_size": 16}})"));
    tenon::config::apply(config);
    // Trains until module call `moment`, where it is interrupted; < 0: is not.
    const auto run = [&](int64_t moment, const std::string& resume_from) {
      tenon::seed_generator(5);
      training::Dataset dataset = training::load_dataset(config["data"], config["split"]);
      tenon::Module model = tenon::create_module(config["model"]);
      training::fit_labels(config, model, dataset);
      training::Trainer trainer(config, model, dataset);
      if (!resume_from.empty()) trainer.resume(resume_from);
      int64_t calls = 0;
      std::vector<tenon::Hook> hooks;
      for (const tenon::Module& module : model.modules()) {
        hooks.push_back(module.register_forward_pre_hook([&](const tenon::Module&, const Tensor&) {
          if (calls++ == moment) tenon::request_interrupt();
        }));
      }
      const bool finished = trainer.run();
      tenon::clear_interrupt();
      if (!finished) trainer.save_checkpoint(folder.file("stopped"));
      return std::tuple(finished, bits(model), calls);
    };
    const auto [finished, expected, calls] = run(-1, "");
    CHECK(finished);
    CHECK(calls > 40);
    for (int64_t moment = 0; moment < calls; ++moment) {
      CAPTURE(moment);
      const auto [done, stopped, seen] = run(moment, "");
      if (done) {
        CHECK(moment + 1 == calls);  // nothing looked after the last call
        continue;
      }
      const auto [completed, resumed, rest] = run(-1, folder.file("stopped"));
      CHECK(completed);
      CHECK((resumed == expected));
      CHECK(seen <= moment + 1);
    }
  }

  // Wide enough that every product, convolution and step is shared among the threads.
  TEST_CASE("one, two and three threads train the same weights, bit for bit") {
    const std::string layers =
        R"({"type": "Linear", "in_features": 1, "out_features": 512}, "GELU", )";
    const std::string perceptron = layers + R"(
{"type": "Linear", "in_features": 512, "out_features": 600}, {"type": "LayerNorm", "normalized_shape": [600]},
{"type": "Linear", "in_features": 600, "out_features": 1})";
    const std::string convolutions = layers + R"(
{"type": "Unflatten", "dim": 1, "unflattened_size": [2, 16, 16]},
{"type": "Conv2d", "in_channels": 2, "out_channels": 8, "kernel_size": 3, "padding": 1},
{"type": "BatchNorm2d", "num_features": 8}, {"type": "MaxPool2d", "kernel_size": 2}, "Flatten",
{"type": "Linear", "in_features": 512, "out_features": 1})";
    const int32_t before = tenon::thread_count();
    for (const std::string& model : {perceptron, convolutions}) {
      for (const char* optimizer : {R"("type": "sgd", "momentum": 0.9)", R"("type": "adam")"}) {
        CAPTURE(model);
        CAPTURE(optimizer);
        const std::string config =
            R"({"schema_version": 1, "data": {"type": "trainers.line", "count": 600},
"model": {"type": "Sequential", "layers": [)" +
            model + R"(]}, "loss": "mse_loss", "optimizer": {"learning_rate": 0.001, )" +
            optimizer + R"(}, "training": {"epochs": 2, "batch_size": 256}})";
        tenon::set_thread_count(1);
        const std::string expected = bits(train(config).model);
        for (const int32_t threads : {2, 3}) {
          CAPTURE(threads);
          tenon::set_thread_count(threads);
          CHECK((bits(train(config).model) == expected));
        }
      }
    }
    tenon::set_thread_count(before);
  }
}
