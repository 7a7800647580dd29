// Ops in their roles: what a training calls by its config, beside model and optimizer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tenon/training/op_choice.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

// The loss: any op that is called with output and target and gives one number.
//
//   "loss": "cross_entropy"
//   "loss": {"type": "nn.functional.cross_entropy", "label_smoothing": 0.1, "weight": [1, 5]}
//   "loss": {"type": "cross_entropy", "weight": "balanced"}
class Loss {
 public:
  // From the section "loss" of a config. ConfigError for what is wrong with it.
  explicit Loss(const Json& section);
  // ValueError when it is not one number; and when it compares elements of an output and a target
  // whose shapes are not the same but broadcast, so that samples would be compared with others.
  Tensor operator()(const Tensor& output, const Tensor& target) const;
  // Computes the arguments that the labels of the training samples decide: "weight": "balanced".
  // `classes`: how many the model scores; 0: not known. Without any such argument it does nothing.
  void fit(const Tensor& labels, int64_t classes) { choice_.compute_arguments(labels, classes); }
  // Whether it adds up the samples of a batch instead of averaging them: "reduction": "sum".
  bool sums() const { return sums_; }
  const OpChoice& choice() const { return choice_; }  // op and arguments

 private:
  OpChoice choice_;
  bool sums_;
};

struct MetricResult {            // a metric of a part
  std::string name;              // in tables and logs
  std::optional<double> number;  // none: it has no value
  Tensor tensor;                 // a result that is not one number
};

// A metric: any op that is called once with all outputs and all targets of an evaluation, and gives
// a number, or a tensor such as a confusion matrix.
//
//   "metrics": ["accuracy", {"type": "metric.top_k", "k": 5}, "my.metric"]
//
// A result is named after the op, without its namespace: "accuracy". "name" gives another
// one, where two metrics call one op.
class Metric {
 public:
  explicit Metric(const Json& section);              // from a config
  const std::string& name() const { return name_; }  // in tables and logs
  // Value for one batch or part.
  MetricResult operator()(const Tensor& outputs, const Tensor& targets) const;

 private:
  OpChoice choice_;
  std::string name_;
};

struct StepNumber {                                    // progress of a training
  int64_t step = 0, steps = 1;                         // from 0, of all
  int64_t epoch = 0, epochs = 1, steps_per_epoch = 1;  // from 0, of all
};

// A learning-rate schedule: any op that gives the factor of the learning rate for a step.
//
//   "schedule": "cosine"
//   "schedule": [{"type": "warmup", "warmup_steps": 100}, "cosine"]    the factors are multiplied
//
// An op gets those of these parameters that its schema has: `step` (from 0), `steps` (of the whole
// training), `epoch` (from 0), `epochs`, `steps_per_epoch`.
class Schedule {
 public:
  // Multiplies the factors of the ops that a config's "training" names; without any it is 1.
  explicit Schedule(const std::vector<Json>& sections);
  double factor(const StepNumber& at) const;  // factor of the learning rate

 private:
  std::vector<OpChoice> choices_;
};

// The order of samples: any op that is called with the labels of all training samples and gives the
// row of each place in an epoch's order, as many as there are.
//
//   "sampler": "balanced"
//   "sampler": {"type": "shuffled", "seed": 7}    one order for all epochs
//
// An op gets those of these parameters that its schema has: `epoch` (from 0), and `seed`, which the
// process's seed and the epoch decide where the section has none.
class Sampler {
 public:
  // From the section "sampler" of a config's "training". ConfigError for what is wrong with it.
  explicit Sampler(const Json& section);
  // i64 [samples]. ValueError where that is not what the op gives.
  Tensor order(const Tensor& labels, int64_t epoch) const;

 private:
  OpChoice choice_;
};

// Clipping: any op that changes a list of gradients in place, before each step of the optimizer.
//
//   "clip": {"type": "norm", "maximum": 1.0}
//   "clip": [{"type": "value", "maximum": 0.5}, "my.clip_"]
class GradientClip {
 public:
  // Clips by the ops that a config's "training" names, in order; without any it does nothing.
  explicit GradientClip(const std::vector<Json>& sections);
  bool empty() const { return choices_.empty(); }               // nothing is clipped
  void operator()(const std::vector<Tensor>& gradients) const;  // in place

 private:
  std::vector<OpChoice> choices_;
};

}  // namespace training

TENON_NAMESPACE_END
