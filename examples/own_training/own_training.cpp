// An optimizer, a learning-rate schedule and a metric, for configs that name them. Each is an op
// with the schema that tenon::training expects of its role.
#include <cmath>
#include <vector>

#include <tenon/plugin.hpp>
#include <tenon/ops.hpp>

using tenon::Tensor;

// Lion (Chen et al., 2023): steps of one size, whose direction is the sign of a mean of gradients.
// States are the tensors that the schema changes beside the parameter: zeros at the first step.
struct LionStep {
  static constexpr auto schema =
      "own.lion_step_(Tensor(a!) parameter, Tensor gradient, Tensor(b!) mean, *, "
      "float learning_rate, float beta1=0.9, float beta2=0.99, float weight_decay=0) -> Tensor(a!)";
  static constexpr auto doc = "One step of Lion in place; mean starts as zeros.";
  static constexpr auto samples = R"([{"learning_rate": 0.1,
      "parameter": {"shape": [2, 3], "requires_grad": false},
      "gradient": {"shape": [2, 3], "requires_grad": false},
      "mean": {"shape": [2, 3], "requires_grad": false}}])";

  static Tensor forward(const Tensor& parameter, const Tensor& gradient, const Tensor& mean,
                        double learning_rate, double beta1, double beta2, double weight_decay) {
    const Tensor direction = (mean * beta1 + gradient * (1 - beta1)).sign();
    parameter.mul_(1 - learning_rate * weight_decay).sub_(direction * learning_rate);
    mean.mul_(beta2).add_(gradient * (1 - beta2));
    return parameter;
  }
};
TENON_OP(LionStep)

// Cosine annealing with warm restarts (Loshchilov and Hutter, 2017). Of step, steps, epoch, epochs
// and steps_per_epoch a schedule gets those that it has as parameters.
struct Restarts {
  static constexpr auto schema =
      "own.restarts(int step, int steps_per_epoch, *, int every=10) -> float";
  static constexpr auto doc = "From 1 to 0 along a cosine, again every so many epochs.";
  static constexpr auto samples = R"([{"step": 3, "steps_per_epoch": 2}])";

  static double forward(int64_t step, int64_t steps_per_epoch, int64_t every) {
    if (every < 1) throw tenon::ValueError("own.restarts(): every must be at least 1");
    const int64_t length = every * steps_per_epoch;
    const double at = static_cast<double>(step % length) / static_cast<double>(length);
    return 0.5 * (1 + std::cos(3.14159265358979 * at));
  }
};
TENON_OP(Restarts)

// A metric gets all outputs and all targets of an evaluation at once.
struct BalancedAccuracy {
  static constexpr auto schema = "own.balanced_accuracy(Tensor output, Tensor target) -> float";
  static constexpr auto doc = "The mean of the accuracies within each class.";
  static constexpr auto samples =
      R"([{"output": {"shape": [4, 3], "requires_grad": false},
           "target": {"values": [0, 2, 1, 1], "dtype": "i64", "requires_grad": false}}])";

  static double forward(const Tensor& output, const Tensor& target) {
    const std::vector<int64_t> guesses = output.argmax(1).to_vector<int64_t>(),
                               classes = target.to_vector<int64_t>();
    if (output.dim() != 2 || guesses.size() != classes.size())
      throw tenon::ValueError("own.balanced_accuracy(): expected a row of scores for each target");
    std::vector<double> hits(static_cast<size_t>(output.size(1))), counts(hits.size());
    for (size_t i = 0; i < classes.size(); ++i) {
      counts.at(static_cast<size_t>(classes[i])) += 1;
      if (guesses[i] == classes[i]) hits[static_cast<size_t>(classes[i])] += 1;
    }
    double sum = 0, present = 0;
    for (size_t k = 0; k < hits.size(); ++k) {
      if (counts[k] == 0) continue;
      sum += hits[k] / counts[k];
      present += 1;
    }
    return present == 0 ? 0 : sum / present;
  }
};
TENON_OP(BalancedAccuracy)

TENON_PLUGIN(own_training, "1.0.0")
