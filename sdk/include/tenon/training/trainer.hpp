// The training loop: epochs of batches, evaluation after each, and what surrounds it.
//
//   Json config = training::read_config("digits.json");
//   config::apply(config);
//   seed_generator(config["seed"].integer());
//   training::Dataset dataset = training::load_dataset(config["data"], config["split"]);
//   Module model = state::create_module(config["model"]);
//   training::fit_labels(config, model, dataset);
//   training::Trainer trainer(config, model, dataset);
//   trainer.epoch_done = [](const training::Epoch& epoch) { std::printf("%f\n", epoch.train_loss); };
//   trainer.run();
//   state::save(model, "digits.safetensors");
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tenon/device.hpp"
#include "tenon/prepare/prepare.hpp"
#include "tenon/training/batch_gradients.hpp"
#include "tenon/training/checkpoint.hpp"
#include "tenon/training/dataset.hpp"
#include "tenon/training/monitor.hpp"
#include "tenon/training/optimizer.hpp"
#include "tenon/training/roles.hpp"
#include "tenon/training/tensor_parallel.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

struct Score {                        // loss and metrics of a part
  std::optional<double> loss;         // mean over samples
  std::vector<MetricResult> metrics;  // in the order of the config
  int64_t count = 0;                  // number of samples
  int64_t labels = 0;         // labels of all samples: more than samples where one has several
  std::string part = "test";  // part that was measured
  // The loss under "loss", or a metric that is a number.
  std::optional<double> find(const std::string& name) const;
};

struct Epoch {                 // one pass over the samples
  int64_t number = 0;          // from 1
  double train_loss = 0;       // mean over samples
  std::optional<Score> score;  // score on Dataset::watched
};

// Whether a model that is applied to many batches is prepared first (prepare/prepare.hpp): it gives the
// same results.
enum class ModelCalls { prepared, as_is };

// The model's mean loss (when there is a loss) and metrics, in eval mode, without recording. Each of
// several ranks computes a share of the outputs, and all have the score. Metrics leave out labels that
// the loss ignores, "ignore_index".
Score evaluate(Module& model, const Loss* loss, const std::vector<Metric>& metrics,
               const Samples& samples, int64_t batch_size, const Ranks& ranks = {},
               ModelCalls calls = ModelCalls::prepared);

// The score of a model that was opened (open_prepared), in the fewest batches of sizes that it has lists for.
// ValueError where such sizes do not add up to the samples, or they have another layout; what calling it throws.
Score evaluate(const Prepared& opened, const Loss* loss, const std::vector<Metric>& metrics,
               const Samples& samples);

// The outputs of a model for inputs, in eval mode, without recording.
Tensor predict(Module& model, const Tensor& inputs, int64_t batch_size,
               ModelCalls calls = ModelCalls::prepared);

// The metrics of a config: those of "metrics", without the key the accuracy where labels are
// classes.
std::vector<Metric> load_metrics(const TrainingConfig& config, const Dataset& dataset);

class Trainer {  // trains a model as a config says
 public:
  // From the sections "loss", "optimizer", "training" and "metrics" of a config. The labels of the
  // dataset fit the model: fit_labels. The model's parameters are shared. On several ranks parallel
  // modules have parts of their parameters from here until `run` returns (tensor_parallel.hpp), and the
  // parameters and buffers are on the config's device as long.
  Trainer(const TrainingConfig& config, const Module& model, Dataset dataset,
          std::optional<int64_t> epochs = {});

  // Called by run, when set.
  std::function<void(double loss)> batch_done;
  std::function<void(const Epoch&)> epoch_done;  // called after each epoch

  // Trains until the last epoch, or until the monitor's patience is at its end. The model then has
  // the weights of the best epoch, where a monitor keeps them. ValueError when the loss is not finite.
  //
  // False when it is interrupted (interrupt.hpp), within a batch too: parameters, buffers, states of
  // the optimizer and the generator are then those after a whole number of steps, the steps that are
  // done. A step of the optimizer that has begun is completed. State that a module keeps outside of
  // its buffers is not put back. On several ranks all stop when one is, after the batch.
  bool run();

  // Writes checkpoints to this file while it runs, as often as "checkpoint" of "training" says.
  void write_checkpoints(const std::string& path) { checkpoint_path_ = path; }
  // Stops at the op that makes the first NaN, as "detect_anomaly" of "training" does.
  void detect_anomaly() { detect_anomaly_ = true; }
  // A checkpoint of where the training is, which `run` continues from with the same final bits, the
  // process's generator included. Called by all ranks alike; the first writes.
  void save_checkpoint(const std::string& path) const;
  // ValueError when the checkpoint is of another training: other data, model, optimizer, ...
  void resume(const std::string& path);

  int64_t epochs() const { return epochs_; }  // the config's
  // Ranks that train the model together; the first writes and prints.
  const Ranks& ranks() const { return ranks_; }
  int64_t steps_per_epoch() const { return batches_.per_epoch(); }      // batches of this rank
  int64_t samples_per_epoch() const { return batches_.plan().used(); }  // without a dropped batch
  // Finished epochs.
  const std::vector<Epoch>& history() const { return history_; }
  const Loss& loss() const { return loss_; }                       // the config's
  const std::vector<Metric>& metrics() const { return metrics_; }  // the config's
  // The epoch whose weights the model has after `run`.
  int64_t best_epoch() const;

 private:
  Tensor transformed(const Tensor& inputs) const;
  void order_batches();
  BatchGradients::Result train_batch();
  BatchGradients::Result gradients_of(const Samples& batch);
  Tensor batch_loss(const Samples& batch);
  void finish_epoch();
  void watch(const Epoch& epoch);
  void write_due_checkpoint(bool epoch_ended);
  Json progress() const;
  void restore_progress(const Json& progress);
  void agree();
  bool train();
  void clip_gradients();
  // Ranks that divide samples among each other.
  Ranks data_ranks() const { return tensor_parallel_.active() ? Ranks() : ranks_; }

  Ranks ranks_;
  device::Device device_;
  Module model_;
  TensorParallel tensor_parallel_;
  Dataset dataset_;
  Loss loss_;
  std::vector<Metric> metrics_;
  Batches batches_;
  Optimizer optimizer_;
  GradientClip clip_;
  BatchGradients gradients_;
  Schedule schedule_;
  std::optional<Sampler> sampler_;
  std::vector<OpChoice> transforms_;
  Monitor monitor_;
  bool detect_anomaly_;
  int64_t epochs_;
  Json identity_;     // keys that a checkpoint must share with the config
  std::string lock_;  // contents of the lock file of the config, the same on each rank
  std::string checkpoint_path_;
  int64_t checkpoint_epochs_ = 0;
  double checkpoint_minutes_ = 0;
  std::chrono::steady_clock::time_point last_checkpoint_;
  // Position of the training.
  int64_t epoch_ = 0, batch_ = 0;
  double total_loss_ = 0;
  std::vector<Epoch> history_;
  NamedTensors best_;  // copies of the best epoch's state
};

}  // namespace training

TENON_NAMESPACE_END
