// Reports about training loops: clipping, schedules, checkpoints, losses, best epochs.
#include <cmath>
#include <limits>
#include <optional>

#include <tenon/state/module_file.hpp>
#include <tenon/training/training.hpp>

#include "support.hpp"

using namespace reports;

namespace {

double clipped(const std::vector<Tensor>& gradients, double maximum) {
  const training::GradientClip norm(
      {Json::parse(R"({"type": "norm", "maximum": )" + std::to_string(maximum) + "}")});
  norm(gradients);
  double squares = 0;
  for (const Tensor& gradient : gradients) {
    for (const double value : numbers(gradient)) squares += value * value;
  }
  return std::sqrt(squares);
}

// A line of 33 rows, for two epochs of three batches.
std::string config_text(const std::string& training, const std::string& more = "") {
  return R"({"schema_version": 1, "seed": 3, "data": {"path": "line.csv"}, "split": {"test": 0},
"model": {"type": "Linear", "in_features": 1, "out_features": 1}, "loss": "mse_loss",
"optimizer": {"type": "adam", "learning_rate": 0.05},
"training": {"epochs": 4, "batch_size": 11, )" +
         training + "}" + more + "}";
}

class Job {
 public:
  explicit Job(const std::string& text) {
    std::string rows = "x,y\n";
    for (int i = 0; i < 33; ++i)
      rows += std::to_string(i * 0.1) + "," + std::to_string(i * 0.2 - 1) + "\n";
    write(folder_ / "line.csv", rows);
    use(text);
  }
  void use(const std::string& text) {
    config_.emplace(training::read_config(write(folder_ / "c.json", text)));
  }
  std::string file(const std::string& name) const { return folder_ / name; }

  struct Run {
    Module model;
    std::vector<training::Epoch> history;
    int64_t best;
  };
  // Steps until `stop` batches are done; 0: to the end. From a checkpoint where there is a path.
  Run run(const std::string& from = "", const std::string& to = "", int64_t stop = 0) const {
    seed_generator(3);
    training::Dataset dataset = training::load_dataset(config_->data, config_->split);
    Module model = state::create_module(config_->model);
    training::fit_labels(*config_, model, dataset);
    training::Trainer trainer(*config_, model, dataset);
    if (!from.empty()) trainer.resume(from);
    int64_t done = 0;
    trainer.batch_done = [&](double) {
      if (++done == stop) throw Error(TENON_ERROR_INTERRUPTED, "stopped");
    };
    trainer.run();
    if (!to.empty()) trainer.save_checkpoint(to);
    return {model, trainer.history(), trainer.best_epoch()};
  }

 private:
  TemporaryFolder folder_;
  std::optional<training::TrainingConfig> config_;
};

Numbers weights(const Module& model) {
  Numbers all;
  for (const Tensor& parameter : model.parameters()) {
    for (const double value : numbers(parameter.detach())) all.push_back(value);
  }
  return all;
}

}  // namespace

TEST_SUITE("reports: trainings") {
  TEST_CASE("clipping: norms whose squares overflow are clipped to the maximum") {
    const Tensor large = full({128}, 1e19, f32);
    CHECK(clipped({large}, 2) == doctest::Approx(2));
    const Tensor tiny = full({4}, 1e-30, f32);
    CHECK(clipped({tiny}, 2) == doctest::Approx(2e-30));
  }

  TEST_CASE("clipping: a gradient that is not finite is not turned into zeros silently") {
    const double infinity = std::numeric_limits<double>::infinity();
    for (const double bad : {infinity, -infinity, std::nan("")}) {
      const Tensor gradient = tensor({1.0, bad});
      const std::string refused = refusal([&] { clipped({gradient}, 1); });
      const Numbers left = numbers(gradient);
      const bool visible =
          refused != "no error" || !std::isfinite(left[0]) || !std::isfinite(left[1]);
      CHECK(visible);
    }
  }

  TEST_CASE("resuming: schedule, optimizer and order of samples continue where they were") {
    for (
        const char* const training :
        {R"("schedule": "cosine")", R"("schedule": {"type": "warmup", "warmup_steps": 5})",
         R"("schedule": ["cosine", {"type": "warmup", "warmup_steps": 3}], "clip": {"type": "norm", "maximum": 1})",
         R"("sampler": {"type": "shuffled"}, "drop_last": true)"}) {
      CAPTURE(training);
      const Job job(config_text(training));
      const Numbers whole = weights(job.run().model);
      for (const int64_t stop : {1, 3, 4, 8}) {
        job.run("", job.file("c"), stop);
        CHECK(weights(job.run(job.file("c")).model) == whole);
      }
    }
  }

  TEST_CASE("resuming: another weight decay or another schedule is refused, not mixed in") {
    Job job(config_text(R"("schedule": "cosine")"));
    job.run("", job.file("c"), 3);
    job.use(config_text(R"("schedule": {"type": "warmup", "warmup_steps": 5})"));
    CHECK(contains(refusal([&] { job.run(job.file("c")); }),
                   "is of another training: its \"training\" is"));
  }

  TEST_CASE("early stopping keeps the weights of the best epoch, and says which that is") {
    const Job job(
        config_text(R"("monitor": {"metric": "loss", "goal": "maximize", "patience": 2})", ""));
    // Without samples to watch there is nothing to choose by.
    CHECK(contains(refusal([&] { job.run(); }), "the monitor has 0 samples to watch"));
    std::string text = config_text(R"("monitor": {"goal": "maximize", "patience": 2})");
    text.replace(text.find(R"("test": 0})"), 10, R"("test": 0.3})");
    const Job worse(text);
    const Job::Run run = worse.run();
    // The loss falls, so that the first epoch is the best to one that maximizes it.
    CHECK(run.best == 1);
    CHECK(run.history.size() == 3);
  }

  TEST_CASE("cross_entropy leaves out ignored labels, with weights and smoothing together") {
    static const Op op("nn.functional.cross_entropy");
    const Tensor scores = tensor({1.0, 2.0, 3.0, 0.4}).reshape({2, 2});
    const Tensor weight = tensor({0.2, 0.3});
    const Tensor one = tensor({3.0, 0.4}).reshape({1, 2});
    const double ignored =
        op.call<Tensor>(scores, codes({-100, 1}), weight, arg("label_smoothing") = 0.1).item();
    const double alone =
        op.call<Tensor>(one, codes({1}), weight, arg("label_smoothing") = 0.1).item();
    CHECK(ignored == doctest::Approx(alone));
  }
}
