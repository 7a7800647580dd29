// Adagrad.
#include "step.hpp"

namespace {

using namespace optim;

struct AdagradSettings {
  double rate, epsilon, weight_decay, initial;
};
template <class T>
struct Adagrad {
  TENON_INLINE static void run(T* p, const T* g, std::array<T*, 1> states, int64_t n,
                               AdagradSettings s) {
    T* sum = states[0];
    const T rate = static_cast<T>(s.rate), decay = static_cast<T>(s.weight_decay);
    const T epsilon = static_cast<T>(s.epsilon), initial = static_cast<T>(s.initial);
    TENON_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) {
      const T gradient = decayed(g[i], p[i], decay);
      sum[i] += gradient * gradient;
      p[i] -= rate * gradient / (std::sqrt(sum[i] + initial) + epsilon);
    }
  }
};

AdagradSettings adagrad_settings(const char* op, int64_t step, double learning_rate,
                                 double learning_rate_decay, double weight_decay, double initial,
                                 double epsilon) {
  check_rate(op, learning_rate, weight_decay);
  check_setting(op, "learning_rate_decay", learning_rate_decay, learning_rate_decay >= 0,
                "zero or more");
  check_setting(op, "initial_accumulator_value", initial, initial >= 0, "zero or more");
  check_setting(op, "epsilon", epsilon, epsilon >= 0, "zero or more");
  check_number(op, step);
  return {learning_rate / (1 + static_cast<double>(step - 1) * learning_rate_decay), epsilon,
          weight_decay, initial};
}

// The update, element by element, at step t = 1, 2, ...:
//   g = gradient + weight_decay * parameter
//   sum = sum + g * g
//   parameter = parameter - learning_rate / (1 + (t - 1) * learning_rate_decay) * g /
//               (sqrt(sum + initial_accumulator_value) + epsilon)
// The state starts as zeros; PyTorch starts it at initial_accumulator_value.
struct AdagradStep {
  static constexpr auto schema =
      "optim.adagrad_step_(Tensor(a!) parameter, Tensor gradient, Tensor(b!) square_sum, *, int "
      "step, float learning_rate, float learning_rate_decay=0, float weight_decay=0, float "
      "initial_accumulator_value=0, float epsilon=1e-10) -> Tensor(a!)";
  static constexpr auto samples =
      R"([{"parameter": {"shape": [2, 3], "requires_grad": false},
           "gradient": {"shape": [2, 3], "requires_grad": false},
           "square_sum": {"shape": [2, 3], "low": 0.1, "high": 0.9, "requires_grad": false},
           "step": 2, "learning_rate": 0.1, "learning_rate_decay": 0.1}])";
  static constexpr auto doc =
      "One step of Adagrad in place; square_sum starts as zeros and step counts from 1.";

  static Tensor forward(const Tensor& parameter, const Tensor& gradient, const Tensor& square_sum,
                        int64_t step, double learning_rate, double learning_rate_decay,
                        double weight_decay, double initial_accumulator_value, double epsilon) {
    constexpr auto op = "adagrad_step_";
    kernel::check_floating(op, "parameter", parameter);
    check_step(op, parameter, "gradient", gradient);
    check_step(op, parameter, "square_sum", square_sum);
    run_step<Adagrad, 1>(parameter, gradient, {&square_sum},
                         adagrad_settings(op, step, learning_rate, learning_rate_decay,
                                          weight_decay, initial_accumulator_value, epsilon));
    return parameter;
  }
};

struct AdagradSteps {
  static constexpr auto schema =
      "optim.adagrad_steps_(Tensor(a!)[] parameters, Tensor[] gradients, Tensor(b!)[] square_sums, "
      "*, int step, float learning_rate, float learning_rate_decay=0, float weight_decay=0, float "
      "initial_accumulator_value=0, float epsilon=1e-10) -> ()";
  static constexpr auto samples =
      R"([{"parameters": [{"shape": [2, 3], "requires_grad": false}, {"shape": [2], "requires_grad": false}],
           "gradients": [{"shape": [2, 3], "requires_grad": false}, {"shape": [2], "requires_grad": false}],
           "square_sums": [{"shape": [2, 3], "low": 0.1, "high": 0.9, "requires_grad": false},
                           {"shape": [2], "low": 0.1, "high": 0.9, "requires_grad": false}],
           "step": 2, "learning_rate": 0.1}])";
  static constexpr auto doc = "adagrad_step_ of each parameter of a list, in one pass.";

  static void forward(TensorList parameters, TensorList gradients, TensorList square_sums,
                      int64_t step, double learning_rate, double learning_rate_decay,
                      double weight_decay, double initial_accumulator_value, double epsilon) {
    constexpr auto op = "adagrad_steps_";
    check_parameters(op, parameters);
    check_steps(op, parameters, "gradients", gradients);
    check_steps(op, parameters, "square_sums", square_sums);
    run_steps<Adagrad, 1>(parameters, gradients, {square_sums},
                          adagrad_settings(op, step, learning_rate, learning_rate_decay,
                                           weight_decay, initial_accumulator_value, epsilon));
  }
};

}  // namespace
TENON_OPS(AdagradStep, AdagradSteps)
