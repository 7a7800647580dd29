// Batches of an epoch: the last one, their order, and what they refuse before a training begins.
#include <algorithm>
#include <map>

#include "support.hpp"

namespace {

training::TrainingConfig config_of(const Folder& folder, const std::string& text) {
  use_trainers();
  const Json config = training::read_config(folder.write("c.json", text));
  tenon::config::apply(config);
  return training::TrainingConfig(config);
}

// A line of 33 points for a model with batch_norm, in batches of 32.
std::string line_of_33(
    const std::string& training,
    const std::string& layer = R"({"type": "BatchNorm1d", "num_features": 2},)") {
  return R"({"schema_version": 1, "data": {"type": "trainers.line", "count": 33},
"split": {"test": 0}, "loss": "mse_loss", "optimizer": {"type": "sgd", "learning_rate": 0.1},
"model": {"type": "Sequential", "layers": [{"type": "Linear", "in_features": 1, "out_features": 2},
)" + layer +
         R"( {"type": "Linear", "in_features": 2, "out_features": 1}]},
"training": {"epochs": 2, "batch_size": 32)" +
         training + "}}";
}

struct Trained {
  training::Dataset dataset;
  tenon::Module model;
};
Trained prepared(const training::TrainingConfig& config) {
  tenon::seed_generator(5);
  Trained all{training::load_dataset(config.data, config.split),
              tenon::create_module(config.model)};
  training::fit_labels(config, all.model, all.dataset);
  return all;
}

training::BatchContents points(int64_t samples) { return {{1}, {}, false, samples}; }

Tensor labels_of(const std::vector<int64_t>& values) {
  return tenon::from_range(values.begin(), values.end());
}
std::vector<int64_t> order(const char* section, const Tensor& labels, int64_t epoch) {
  return training::Sampler(Json::parse(section)).order(labels, epoch).to_vector<int64_t>();
}

}  // namespace

TEST_SUITE("batches") {
  TEST_CASE("a last batch that the model refuses is found before a training begins") {
    const Folder folder;
    const training::TrainingConfig config = config_of(folder, line_of_33(""));
    const std::vector<std::string> faults = training::batch_faults(config, points(33));
    REQUIRE(faults.size() == 1);
    CHECK(
        contains(faults[0], "/model/layers/1: layer '1' (BatchNorm1d): batch_norm(): more than 1"));
    CHECK(
        contains(faults[0],
                 "\n  in the last batch: 33 samples in batches of 32 leave 1 for it; leave it out "
                 "by /training/drop_last, or choose another /training/batch_size"));
    CHECK(training::batch_faults(config, points(34)).empty());
    CHECK(training::batch_faults(config, points(64)).empty());
    const Trained all = prepared(config);
    const tenon::Draws draws = tenon::generator_state();
    CHECK(refusal([&] { training::require_last_batch(config, all.dataset.train); }) == faults[0]);
    CHECK(tenon::generator_state().seed == draws.seed);
    CHECK(tenon::generator_state().offset == draws.offset);
  }

  TEST_CASE("a batch of one for all samples is not called a last batch") {
    const Folder folder;
    training::TrainingConfig config = config_of(folder, line_of_33(""));
    config.training->batch_size = 1;
    const std::vector<std::string> faults = training::batch_faults(config, points(33));
    REQUIRE(faults.size() == 1);
    CHECK_FALSE(contains(faults[0], "last batch"));
  }

  TEST_CASE("the only batch, which drop_last would leave out, is not called the last one") {
    const Folder folder;
    const training::TrainingConfig config = config_of(folder, line_of_33(""));
    const std::vector<std::string> faults = training::batch_faults(config, points(1));
    REQUIRE(faults.size() == 1);
    CHECK(contains(faults[0], "batch_norm(): more than 1"));
    CHECK_FALSE(contains(faults[0], "last batch"));
    CHECK_FALSE(contains(faults[0], "drop_last"));
  }

  TEST_CASE("an error that a training meets in its last batch names the batch and the remedy") {
    const Folder folder;
    const training::TrainingConfig config = config_of(folder, line_of_33(""));
    const Trained all = prepared(config);
    training::Trainer trainer(config, all.model, all.dataset);
    std::string message;
    try {
      trainer.run();
    } catch (const tenon::ValueError& error) {  // the class that batch_norm throws
      message = error.what();
    }
    CHECK(contains(message, "more than 1 element for each channel"));
    CHECK(
        contains(message,
                 "\n  in epoch 1, whose last batch has 1 of 32 samples; /training/drop_last leaves "
                 "it out"));
  }

  TEST_CASE("drop_last leaves out the last batch where it has fewer samples") {
    const Folder folder;
    const training::TrainingConfig config = config_of(folder, line_of_33(R"(, "drop_last": true)"));
    CHECK(training::batch_faults(config, points(33)).empty());
    const Trained all = prepared(config);
    training::Trainer trainer(config, all.model, all.dataset);
    int64_t steps = 0;
    double losses = 0;
    trainer.batch_done = [&](double loss) {
      ++steps;
      losses += loss;
    };
    CHECK(trainer.run());
    CHECK(steps == 2);
    CHECK(trainer.samples_per_epoch() == 32);
    // The mean over the samples that were used.
    CHECK(trainer.history()[0].train_loss + trainer.history()[1].train_loss ==
          doctest::Approx(losses));
    CHECK(contains(training::batch_faults(config, points(31)).front(),
                   "an epoch has 31 samples, and the only batch of 32 is not full"));
  }

  TEST_CASE("batches and samples of an epoch agree with a count, for all sizes") {
    for (int64_t samples = 1; samples < 40; ++samples) {
      for (int64_t size = 1; size < 45; ++size) {
        const training::BatchPlan whole{samples, size, false}, dropped{samples, size, true};
        int64_t batches = 0, full = 0;
        for (int64_t left = samples; left > 0; left -= size) {
          ++batches;
          full += left >= size ? 1 : 0;
        }
        CHECK(whole.batches() == batches);
        CHECK(whole.used() == samples);
        CHECK(dropped.batches() == full);
        CHECK(dropped.used() == full * size);
        CHECK(whole.remainder() == (batches == full ? 0 : samples - full * size));
        CHECK(dropped.remainder() == 0);
      }
    }
  }

  TEST_CASE("the balanced sampler has as many rows of each class, and uses all before it repeats") {
    std::vector<int64_t> labels(40, 0);
    for (const size_t i : {3u, 17u, 21u, 30u, 31u, 32u, 33u}) labels[i] = i < 20 ? 1 : 2;
    const std::vector<int64_t> rows = order(R"({"type": "balanced"})", labels_of(labels), 0);
    REQUIRE(rows.size() == labels.size());
    std::map<int64_t, int64_t> classes, used;
    for (const int64_t row : rows) {
      ++classes[labels[static_cast<size_t>(row)]];
      ++used[row];
    }
    for (const auto& [label, count] : classes) CHECK(std::abs(count - 40 / 3) <= 1);
    for (const auto& [row, count] : used) {
      // Two rows of class 1 and five of class 2 share 13 or 14 places each.
      const int64_t label = labels[static_cast<size_t>(row)];
      CHECK(count <= (label == 0 ? 1 : label == 1 ? 7 : 3));
      CHECK(count >= (label == 0 ? 1 : label == 1 ? 6 : 2));
    }
  }

  TEST_CASE("a sampler draws another order for each epoch, with a seed one order for all") {
    tenon::seed_generator(5);
    const Tensor labels = tenon::zeros({30});
    for (const std::string type : {"shuffled", "balanced"}) {
      const std::string plain = R"({"type": ")" + type + "\"}";
      const std::string seeded = R"({"type": ")" + type + R"(", "seed": 7})";
      CHECK(order(plain.c_str(), labels, 0) != order(plain.c_str(), labels, 1));
      CHECK(order(plain.c_str(), labels, 1) == order(plain.c_str(), labels, 1));
      CHECK(order(seeded.c_str(), labels, 0) == order(seeded.c_str(), labels, 1));
      std::vector<int64_t> rows = order(seeded.c_str(), labels, 0);
      std::sort(rows.begin(), rows.end());
      CHECK(rows == order(R"({"type": "sequential"})", labels, 3));
    }
  }

  TEST_CASE("a training takes its batches in the sampler's order") {
    const Folder folder;
    const training::TrainingConfig config = config_of(
        folder, line_of_33(R"(, "sampler": {"type": "sequential"})", R"({"type": "ReLU"},)"));
    CHECK(config.training->sampler["type"].text() == "sequential");
    Trained all = prepared(config);
    // A loss that is not finite in row 0 is met in the first batch.
    tenon::fill_elements(tenon::narrow(all.dataset.train.labels, 0, 32, 1), 1e30);
    training::Trainer trainer(config, all.model, all.dataset);
    CHECK(contains(refusal([&] { trainer.run(); }), "in epoch 1, batch 2"));
  }

  TEST_CASE("a sampler that gives other rows is refused, with the place of the first") {
    const auto message = [](const char* op) {
      return refusal([&] { training::Sampler(Json::parse(op)).order(tenon::zeros({3}), 0); });
    };
    CHECK(contains(message(R"({"type": "zeros_like"})"),
                   "zeros_like must give the rows of 3 samples, found f32 of shape [3]"));
  }
}
