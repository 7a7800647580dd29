// Adam, and AdamW with its decoupled weight decay.
#include "step.hpp"

namespace {

using namespace optim;

struct AdamSettings {
  double step_size, beta1, beta2, epsilon, weight_decay, inverse_root_correction, shrink;
};
template <class T>
struct Adam {
  TENON_INLINE static void run(T* p, const T* g, std::array<T*, 2> states, int64_t n,
                               AdamSettings s) {
    T *first = states[0], *second = states[1];
    const T step = static_cast<T>(s.step_size), decay = static_cast<T>(s.weight_decay);
    const T keep1 = static_cast<T>(s.beta1), take1 = static_cast<T>(1 - s.beta1);
    const T keep2 = static_cast<T>(s.beta2), take2 = static_cast<T>(1 - s.beta2);
    const T epsilon = static_cast<T>(s.epsilon), shrink = static_cast<T>(s.shrink),
            correction = static_cast<T>(s.inverse_root_correction);
    TENON_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) {
      const T gradient = decayed(g[i], p[i], decay);
      const T mean = keep1 * first[i] + take1 * gradient;
      const T square = keep2 * second[i] + take2 * gradient * gradient;
      first[i] = mean;
      second[i] = square;
      p[i] = shrink * p[i] - step * mean / (std::sqrt(square) * correction + epsilon);
    }
  }
};

struct AdamArguments {
  int64_t step;
  double learning_rate;
  tenon::FloatList betas;
  double epsilon, weight_decay;
};

// `decoupled`: the decay shrinks the parameter instead of adding to the gradient.
AdamSettings adam_settings(const char* op, const AdamArguments& a, bool decoupled) {
  check_rate(op, a.learning_rate, a.weight_decay);
  if (a.betas.size() != 2)
    throw tenon::ValueError(std::string(op) + "(): betas must be 2 numbers, got " +
                            std::to_string(a.betas.size()));
  for (const double beta : a.betas)
    check_setting(op, "each of betas", beta, beta >= 0 && beta < 1, "at least 0 and below 1");
  check_setting(op, "epsilon", a.epsilon, a.epsilon >= 0, "zero or more");
  check_number(op, a.step);
  const auto t = static_cast<double>(a.step);
  const double beta1 = a.betas[0], beta2 = a.betas[1];
  return {a.learning_rate / (1 - std::pow(beta1, t)),
          beta1,
          beta2,
          a.epsilon,
          decoupled ? 0 : a.weight_decay,
          1 / std::sqrt(1 - std::pow(beta2, t)),
          decoupled ? 1 - a.learning_rate * a.weight_decay : 1};
}

Tensor step_adam(const char* op, const Tensor& parameter, const Tensor& gradient,
                 const Tensor& first_moment, const Tensor& second_moment,
                 const AdamArguments& arguments, bool decoupled) {
  kernel::check_floating(op, "parameter", parameter);
  check_step(op, parameter, "gradient", gradient);
  check_step(op, parameter, "first_moment", first_moment);
  check_step(op, parameter, "second_moment", second_moment);
  run_step<Adam, 2>(parameter, gradient, {&first_moment, &second_moment},
                    adam_settings(op, arguments, decoupled));
  return parameter;
}
void steps_adam(const char* op, TensorList parameters, TensorList gradients,
                TensorList first_moments, TensorList second_moments, const AdamArguments& arguments,
                bool decoupled) {
  check_parameters(op, parameters);
  check_steps(op, parameters, "gradients", gradients);
  check_steps(op, parameters, "first_moments", first_moments);
  check_steps(op, parameters, "second_moments", second_moments);
  run_steps<Adam, 2>(parameters, gradients, {first_moments, second_moments},
                     adam_settings(op, arguments, decoupled));
}

// The update, element by element, at step t = 1, 2, ...:
//   g = gradient + weight_decay * parameter
//   first = beta1 * first + (1 - beta1) * g
//   second = beta2 * second + (1 - beta2) * g * g
//   parameter = parameter - learning_rate / (1 - beta1^t) * first /
//               (sqrt(second / (1 - beta2^t)) + epsilon)
struct AdamStep {
  static constexpr auto schema =
      "optim.adam_step_(Tensor(a!) parameter, Tensor gradient, Tensor(b!) first_moment, Tensor(c!) "
      "second_moment, *, int step, float learning_rate, float[] betas=[0.9, 0.999], float "
      "epsilon=1e-8, float weight_decay=0) -> Tensor(a!)";
  static constexpr auto samples =
      R"([{"parameter": {"shape": [2, 3], "requires_grad": false},
           "gradient": {"shape": [2, 3], "requires_grad": false},
           "first_moment": {"shape": [2, 3], "requires_grad": false},
           "second_moment": {"shape": [2, 3], "low": 0.1, "high": 0.9, "requires_grad": false},
           "step": 2, "learning_rate": 0.1, "betas": [0.9, 0.99]}])";
  static constexpr auto doc =
      "One step of Adam in place; the moments start as zeros and step counts from 1.";

  static Tensor forward(const Tensor& parameter, const Tensor& gradient, const Tensor& first_moment,
                        const Tensor& second_moment, int64_t step, double learning_rate,
                        tenon::FloatList betas, double epsilon, double weight_decay) {
    return step_adam("adam_step_", parameter, gradient, first_moment, second_moment,
                     {step, learning_rate, betas, epsilon, weight_decay}, false);
  }
};

struct AdamSteps {
  static constexpr auto schema =
      "optim.adam_steps_(Tensor(a!)[] parameters, Tensor[] gradients, Tensor(b!)[] first_moments, "
      "Tensor(c!)[] second_moments, *, int step, float learning_rate, float[] betas=[0.9, 0.999], "
      "float epsilon=1e-8, float weight_decay=0) -> ()";
  static constexpr auto samples =
      R"([{"parameters": [{"shape": [2, 3], "requires_grad": false}, {"shape": [2], "requires_grad": false}],
           "gradients": [{"shape": [2, 3], "requires_grad": false}, {"shape": [2], "requires_grad": false}],
           "first_moments": [{"shape": [2, 3], "requires_grad": false}, {"shape": [2], "requires_grad": false}],
           "second_moments": [{"shape": [2, 3], "low": 0.1, "high": 0.9, "requires_grad": false},
                              {"shape": [2], "low": 0.1, "high": 0.9, "requires_grad": false}],
           "step": 2, "learning_rate": 0.1, "betas": [0.9, 0.99]}])";
  static constexpr auto doc = "adam_step_ of each parameter of a list, in one pass.";

  static void forward(TensorList parameters, TensorList gradients, TensorList first_moments,
                      TensorList second_moments, int64_t step, double learning_rate,
                      tenon::FloatList betas, double epsilon, double weight_decay) {
    steps_adam("adam_steps_", parameters, gradients, first_moments, second_moments,
               {step, learning_rate, betas, epsilon, weight_decay}, false);
  }
};

// Adam of the gradient alone, with the parameter shrunk before:
//   parameter = parameter * (1 - learning_rate * weight_decay)
struct AdamWStep {
  static constexpr auto schema =
      "optim.adamw_step_(Tensor(a!) parameter, Tensor gradient, Tensor(b!) first_moment, "
      "Tensor(c!) second_moment, *, int step, float learning_rate, float[] betas=[0.9, 0.999], "
      "float epsilon=1e-8, float weight_decay=0.01) -> Tensor(a!)";
  static constexpr auto samples = AdamStep::samples;
  static constexpr auto doc =
      "One step of AdamW in place: Adam with a weight decay that does not pass through the "
      "moments.";

  static Tensor forward(const Tensor& parameter, const Tensor& gradient, const Tensor& first_moment,
                        const Tensor& second_moment, int64_t step, double learning_rate,
                        tenon::FloatList betas, double epsilon, double weight_decay) {
    return step_adam("adamw_step_", parameter, gradient, first_moment, second_moment,
                     {step, learning_rate, betas, epsilon, weight_decay}, true);
  }
};

struct AdamWSteps {
  static constexpr auto schema =
      "optim.adamw_steps_(Tensor(a!)[] parameters, Tensor[] gradients, Tensor(b!)[] first_moments, "
      "Tensor(c!)[] second_moments, *, int step, float learning_rate, float[] betas=[0.9, 0.999], "
      "float epsilon=1e-8, float weight_decay=0.01) -> ()";
  static constexpr auto samples = AdamSteps::samples;
  static constexpr auto doc = "adamw_step_ of each parameter of a list, in one pass.";

  static void forward(TensorList parameters, TensorList gradients, TensorList first_moments,
                      TensorList second_moments, int64_t step, double learning_rate,
                      tenon::FloatList betas, double epsilon, double weight_decay) {
    steps_adam("adamw_steps_", parameters, gradients, first_moments, second_moments,
               {step, learning_rate, betas, epsilon, weight_decay}, true);
  }
};

}  // namespace
TENON_OPS(AdamStep, AdamSteps, AdamWStep, AdamWSteps)
