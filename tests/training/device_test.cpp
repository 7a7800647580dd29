// Trainings on a device: the weights of one on the CPU but for rounding, interrupted and resumed elsewhere too.
#include <algorithm>
#include <utility>
#include <vector>

#include <tenon/device.hpp>

#include "support.hpp"

namespace {

std::string config_on(const std::string& device) {
  return R"({"schema_version": 1,
"data": {"type": "trainers.line", "count": 40}, "model": {"type": "Sequential", "layers": [
{"type": "Linear", "in_features": 1, "out_features": 4}, {"type": "BatchNorm1d", "num_features": 4},
{"type": "Dropout", "p": 0.3}, "ReLU", {"type": "Linear", "in_features": 4, "out_features": 1}]},
"loss": "mse_loss", "optimizer": {"type": "adam", "learning_rate": 0.01}, "split": {"test": 0.2},
"training": {"device": ")" +
         device +
         R"(", "epochs": 3, "batch_size": 16, "clip": {"type": "norm", "maximum": 1}, "monitor": {"goal": "minimize"}}})";
}

struct Run {
  bool finished = false;
  std::vector<float> weights;
  double test_loss = 0;
};

// Trains; interrupted before step `last`, where that is not negative, it leaves a checkpoint.
Run train(const Folder& folder, const std::string& device, int64_t last, bool resumed) {
  const Json config = training::read_config(folder.write("c.json", config_on(device)));
  tenon::config::apply(config);
  tenon::seed_generator(5);
  tenon::Module model = tenon::create_module(config["model"]);
  training::Dataset dataset = training::load_dataset(config["data"], config["split"]);
  training::fit_labels(config, model, dataset);
  training::Trainer trainer(config, model, dataset);
  if (resumed) trainer.resume(folder.file("stopped"));
  int64_t steps = 0;
  trainer.batch_done = [&](double) {
    if (++steps == last) tenon::request_interrupt();
  };
  Run run;
  run.finished = trainer.run();
  tenon::clear_interrupt();
  if (!run.finished) trainer.save_checkpoint(folder.file("stopped"));
  CHECK(tenon::device::name_of(model) == "cpu");
  for (const auto& [name, tensor] : training::module_state(model, "")) {
    for (const float weight : tensor.to(tenon::f32).to_vector<float>())
      run.weights.push_back(weight);
  }
  if (run.finished) run.test_loss = trainer.history().back().score->loss.value();
  return run;
}

void check_close(const Run& found, const Run& expected) {
  REQUIRE(found.weights.size() == expected.weights.size());
  for (size_t i = 0; i < found.weights.size(); ++i)
    CHECK(found.weights[i] == doctest::Approx(expected.weights[i]).epsilon(1e-4));
}

}  // namespace

TEST_SUITE("training device") {
  TEST_CASE("a training on a device has the weights of one on the CPU") {
    use_trainers();
    const Folder folder;
    const Run cpu = train(folder, "cpu", -1, false), sim = train(folder, "sim:1", -1, false);
    CHECK(sim.finished);
    check_close(sim, cpu);
    CHECK(sim.test_loss == doctest::Approx(cpu.test_loss).epsilon(1e-4));
  }

  TEST_CASE("a training that was interrupted on one device continues on another") {
    use_trainers();
    const Folder folder;
    const Run whole = train(folder, "cpu", -1, false);
    for (const auto& [first, second] : {std::pair("sim:0", "cpu"), std::pair("cpu", "sim:1")}) {
      CHECK_FALSE(train(folder, first, 3, false).finished);
      const Run rest = train(folder, second, -1, true);
      CHECK(rest.finished);
      check_close(rest, whole);
    }
  }

  TEST_CASE("a device that is not there is refused at its place in the config") {
    use_trainers();
    const Folder folder;
    const std::string text = refusal([&] { train(folder, "smi", -1, false); });
    CHECK(contains(text, "c.json:6:"));
    CHECK(contains(text, "/training/device"));
    CHECK(contains(text, "no device is named 'smi'; expected cpu"));
  }

  TEST_CASE("a plan names the plugin of the device, and refuses one that is not there") {
    use_trainers();
    const Folder folder;
    const auto outline = [&](const char* device) {
      const std::string file = folder.write("c.json", config_on(device));
      return training::outline(training::read_config(file), training::DataFiles::skip);
    };
    const std::vector<training::Purpose> purposes = outline("sim:1").purposes;
    CHECK(std::any_of(purposes.begin(), purposes.end(), [](const training::Purpose& purpose) {
      return purpose.plugin == "sim" && purpose.what == "training";
    }));
    const std::vector<std::string> faults = outline("smi").faults;
    REQUIRE(faults.size() == 1);
    CHECK(contains(faults[0], "/training/device"));
    CHECK(contains(faults[0], "(did you mean 'sim'?)"));
  }
}
