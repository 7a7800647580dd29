// Training and evaluation of a model on samples: loss, optimizer, epochs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <tenon/tenon.hpp>

#include "dataset.hpp"

namespace cli {

// An op that is called with output and target, and with the options that the config gives it.
class Loss {
 public:
  explicit Loss(const tenon::Json& settings);
  tenon::Tensor operator()(const tenon::Tensor& output, const tenon::Tensor& target) const;
  // Whether it adds up the samples of a batch instead of averaging them.
  bool sums() const { return sums_; }

 private:
  tenon::Op op_;
  bool sums_ = false;
  tenon::Json settings_;
  std::vector<std::string> names_;  // of the options
};

// SGD with momentum, or Adam; what they remember is kept here, the steps are ops.
class Optimizer {
 public:
  Optimizer(const tenon::Json& settings, std::vector<tenon::Tensor> parameters);
  // Changes the parameters by their gradients and drops those.
  void step(double learning_rate);
  double learning_rate() const { return learning_rate_; }

 private:
  struct Slot {
    tenon::Tensor parameter, first, second;
  };
  bool adam_;
  double learning_rate_, momentum_, beta1_, beta2_, epsilon_, weight_decay_;
  int64_t steps_ = 0;
  std::vector<Slot> slots_;
};

struct Score {
  double loss = 0;
  std::optional<int64_t> correct;  // where labels are classes
  int64_t count = 0;
  std::optional<double> accuracy() const {
    if (!correct || count == 0) return std::nullopt;
    return static_cast<double>(*correct) / static_cast<double>(count);
  }
};

struct Epoch {
  int64_t number = 0;  // from 1
  double train_loss = 0;
  std::optional<Score> test;
};

// What the training reports while it runs, and can be asked.
struct Watcher {
  std::function<void(double loss)> batch_done;
  std::function<void(const Epoch&)> epoch_done;
  std::function<bool()> stopped;
};

struct Schedule {
  int64_t epochs = 1, batch_size = 64;
  bool cosine = false;
};

// Gives the labels the form that fits the model's output: class numbers (i64) where it scores
// several classes and the labels are whole numbers, else f32 in the output's shape. Throws where
// neither fits, naming the place in the config.
void fit_labels(const tenon::Json& config, tenon::Module& model, Dataset& dataset);

// The model's mean loss (when there is a loss) and accuracy, in eval mode, without recording.
Score evaluate(tenon::Module& model, const Loss* loss, const Samples& samples, int64_t batch_size);

// The epochs that were finished. Stops after the batch in which the watcher says so.
std::vector<Epoch> train(tenon::Module& model, const Loss& loss, Optimizer& optimizer,
                         const Dataset& dataset, const Schedule& schedule, const Watcher& watcher);

}  // namespace cli
