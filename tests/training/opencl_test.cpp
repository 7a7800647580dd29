// Trainings on a device of OpenCL by config alone: losses are those of the CPU but for rounding, and no op runs
// on the CPU.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <tenon/device.hpp>

#include "plugins/opencl/control.h"
#include "support.hpp"
#include "tests/support/opencl_device.hpp"

namespace {

struct Losses {
  std::vector<double> batches;
  double test = 0, accuracy = 0;
};

Losses train(const std::string& device, const std::string& shape, const std::string& layers,
             const std::string& optimizer) {
  use_trainers();
  const Folder folder;
  const std::string text =
      R"({"schema_version": 1, "plugins": ["math", "blas", "nn", "optim", "metric", "data"],
"data": {"type": "csv", "path": ")" TENON_SOURCE_DIR
      R"(/examples/digits/digits.csv", "scale": 0.0625, "shape": )" +
      shape + R"(}, "split": {"test": 0.2},
"model": {"type": "Sequential", "layers": [)" +
      layers +
      R"(]}, "loss": {"type": "cross_entropy", "label_smoothing": 0.05}, "metrics": ["accuracy"],
"optimizer": )" +
      optimizer + R"(, "training": {"device": ")" + device +
      R"(", "epochs": 1, "batch_size": 64}})";
  const Json config = training::read_config(folder.write("c.json", text));
  tenon::config::apply(config);
  tenon::seed_generator(5);
  tenon::Module model = tenon::create_module(config["model"]);
  training::Dataset dataset = training::load_dataset(config["data"], config["split"]);
  training::fit_labels(config, model, dataset);
  training::Trainer trainer(config, model, dataset);
  Losses losses;
  trainer.batch_done = [&](double loss) { losses.batches.push_back(loss); };
  CHECK(trainer.run());
  losses.test = trainer.history().back().score->loss.value();
  losses.accuracy = trainer.history().back().score->find("accuracy").value();
  return losses;
}

void check_alike(const std::string& shape, const std::string& layers,
                 const std::string& optimizer) {
  if (!needs_opencl()) return;
  const tenon::Service<opencl_control_service> control("opencl.control", OPENCL_CONTROL_VERSION);
  const Losses expected = train("cpu", shape, layers, optimizer);
  const int64_t mapped = control->mapped_calls(), kernels = control->kernels(0);
  const Losses found = train("opencl", shape, layers, optimizer);
  CHECK(control->kernels(0) > kernels);
  CHECK_MESSAGE(control->mapped_calls() == mapped, "on the CPU: ", control->mapped_op());
  REQUIRE(found.batches.size() == expected.batches.size());
  for (size_t i = 0; i < found.batches.size(); ++i)
    CHECK(found.batches[i] == doctest::Approx(expected.batches[i]).epsilon(1e-3));
  CHECK(found.test == doctest::Approx(expected.test).epsilon(1e-3));
  CHECK(std::fabs(found.accuracy - expected.accuracy) < 0.01);
  CHECK(found.batches.back() < found.batches.front());
}

}  // namespace

TEST_SUITE("training opencl") {
  TEST_CASE("an MLP trains on the device as on the CPU") {
    check_alike("[64]",
                R"({"type": "Linear", "in_features": 64, "out_features": 32}, "ReLU",
                   {"type": "Linear", "in_features": 32, "out_features": 10})",
                R"({"type": "sgd", "learning_rate": 0.1, "momentum": 0.9})");
  }

  TEST_CASE("a network of convolutions trains on the device as on the CPU") {
    check_alike("[1, 8, 8]",
                R"({"type": "Conv2d", "in_channels": 1, "out_channels": 6, "kernel_size": 3,
                    "padding": 1, "bias": false},
                   {"type": "BatchNorm2d", "num_features": 6}, "ReLU",
                   {"type": "MaxPool2d", "kernel_size": 2},
                   {"type": "Conv2d", "in_channels": 6, "out_channels": 8, "kernel_size": 3}, "GELU",
                   {"type": "AvgPool2d", "kernel_size": 2}, "Flatten", {"type": "Dropout", "p": 0.2},
                   {"type": "Linear", "in_features": 8, "out_features": 10})",
                R"({"type": "adamw", "learning_rate": 0.01})");
  }

  TEST_CASE("a model of attention trains on the device as on the CPU") {
    check_alike("[8, 8]",
                R"({"type": "Linear", "in_features": 8, "out_features": 16},
                   {"type": "TransformerEncoderLayer", "d_model": 16, "nhead": 2,
                    "dim_feedforward": 32, "dropout": 0.1},
                   "Flatten", {"type": "Linear", "in_features": 128, "out_features": 10})",
                R"({"type": "adam", "learning_rate": 0.005})");
  }
}
