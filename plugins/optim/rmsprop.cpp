// RMSprop.
#include "step.hpp"

namespace {

using namespace optim;

struct RmspropSettings {
  double learning_rate, alpha, epsilon, weight_decay, momentum;
};
template <class T>
struct Rmsprop {
  // States: square average; average gradient and momentum buffer, or null.
  TENON_INLINE static void run(T* p, const T* g, std::array<T*, 3> states, int64_t n,
                               RmspropSettings s) {
    T *square = states[0], *average = states[1], *buffer = states[2];
    const T rate = static_cast<T>(s.learning_rate), decay = static_cast<T>(s.weight_decay);
    const T keep = static_cast<T>(s.alpha), take = static_cast<T>(1 - s.alpha);
    const T epsilon = static_cast<T>(s.epsilon), momentum = static_cast<T>(s.momentum);
    TENON_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) {
      const T gradient = decayed(g[i], p[i], decay);
      T spread = square[i] = keep * square[i] + take * gradient * gradient;
      if (average != nullptr) {
        average[i] = keep * average[i] + take * gradient;
        spread -= average[i] * average[i];
      }
      T change = gradient / (std::sqrt(spread) + epsilon);
      if (buffer != nullptr) change = buffer[i] = momentum * buffer[i] + change;
      p[i] -= rate * change;
    }
  }
};

RmspropSettings rmsprop_settings(const char* op, double learning_rate, double alpha, double epsilon,
                                 double weight_decay, double momentum) {
  check_rate(op, learning_rate, weight_decay);
  check_setting(op, "alpha", alpha, alpha >= 0, "zero or more");
  check_setting(op, "epsilon", epsilon, epsilon >= 0, "zero or more");
  check_setting(op, "momentum", momentum, momentum >= 0, "zero or more");
  return {learning_rate, alpha, epsilon, weight_decay, momentum};
}

[[noreturn]] void refuse_missing(const char* op, const char* name) {
  throw tenon::ValueError(std::string(op) + "(): '" + name +
                          "' is needed, zeros at the first step");
}

// The update, element by element:
//   g = gradient + weight_decay * parameter
//   square = alpha * square + (1 - alpha) * g * g
//   centered: average = alpha * average + (1 - alpha) * g, and square - average^2 below the root
//   change = g / (sqrt(square) + epsilon)
//   with momentum: buffer = momentum * buffer + change, and change = buffer
//   parameter = parameter - learning_rate * change
struct RmspropStep {
  static constexpr auto schema =
      "optim.rmsprop_step_(Tensor(a!) parameter, Tensor gradient, Tensor(b!) square_average, "
      "Tensor(c!)? centered_average=None, Tensor(d!)? momentum_buffer=None, *, float "
      "learning_rate, float alpha=0.99, float epsilon=1e-8, float weight_decay=0, float "
      "momentum=0, bool centered=False) -> Tensor(a!)";
  static constexpr auto samples =
      R"([{"parameter": {"shape": [2, 3], "requires_grad": false},
           "gradient": {"shape": [2, 3], "requires_grad": false},
           "square_average": {"shape": [2, 3], "low": 0.1, "high": 0.9, "requires_grad": false},
           "learning_rate": 0.1},
          {"parameter": {"shape": [2, 3], "requires_grad": false},
           "gradient": {"shape": [2, 3], "requires_grad": false},
           "square_average": {"shape": [2, 3], "low": 0.5, "high": 0.9, "requires_grad": false},
           "centered_average": {"shape": [2, 3], "low": 0, "high": 0.1, "requires_grad": false},
           "momentum_buffer": {"shape": [2, 3], "requires_grad": false},
           "learning_rate": 0.1, "momentum": 0.9, "centered": true}])";
  static constexpr auto doc =
      "One step of RMSprop in place; the states start as zeros, and those of momentum and centered "
      "are only needed with them.";

  static Tensor forward(const Tensor& parameter, const Tensor& gradient,
                        const Tensor& square_average, const Tensor& centered_average,
                        const Tensor& momentum_buffer, double learning_rate, double alpha,
                        double epsilon, double weight_decay, double momentum, bool centered) {
    constexpr auto op = "rmsprop_step_";
    kernel::check_floating(op, "parameter", parameter);
    check_step(op, parameter, "gradient", gradient);
    check_step(op, parameter, "square_average", square_average);
    const RmspropSettings settings =
        rmsprop_settings(op, learning_rate, alpha, epsilon, weight_decay, momentum);
    const Tensor none;
    const auto needed = [&](bool used, const char* name, const Tensor& state) {
      if (!used) return &none;
      if (!state.defined()) refuse_missing(op, name);
      check_step(op, parameter, name, state);
      return &state;
    };
    run_step<Rmsprop, 3>(parameter, gradient,
                         {&square_average, needed(centered, "centered_average", centered_average),
                          needed(momentum != 0, "momentum_buffer", momentum_buffer)},
                         settings);
    return parameter;
  }
};

struct RmspropSteps {
  static constexpr auto schema =
      "optim.rmsprop_steps_(Tensor(a!)[] parameters, Tensor[] gradients, Tensor(b!)[] "
      "square_averages, Tensor(c!)[]? centered_averages=None, Tensor(d!)[]? momentum_buffers=None, "
      "*, float learning_rate, float alpha=0.99, float epsilon=1e-8, float weight_decay=0, float "
      "momentum=0, bool centered=False) -> ()";
  static constexpr auto samples =
      R"([{"parameters": [{"shape": [2, 3], "requires_grad": false}, {"shape": [2], "requires_grad": false}],
           "gradients": [{"shape": [2, 3], "requires_grad": false}, {"shape": [2], "requires_grad": false}],
           "square_averages": [{"shape": [2, 3], "low": 0.1, "high": 0.9, "requires_grad": false},
                               {"shape": [2], "low": 0.1, "high": 0.9, "requires_grad": false}],
           "learning_rate": 0.1}])";
  static constexpr auto doc = "rmsprop_step_ of each parameter of a list, in one pass.";

  static void forward(TensorList parameters, TensorList gradients, TensorList square_averages,
                      const std::optional<TensorList>& centered_averages,
                      const std::optional<TensorList>& momentum_buffers, double learning_rate,
                      double alpha, double epsilon, double weight_decay, double momentum,
                      bool centered) {
    constexpr auto op = "rmsprop_steps_";
    check_parameters(op, parameters);
    check_steps(op, parameters, "gradients", gradients);
    check_steps(op, parameters, "square_averages", square_averages);
    const auto needed = [&](bool used, const char* name, const std::optional<TensorList>& states) {
      if (!used) return TensorList();
      if (!states) refuse_missing(op, name);
      check_steps(op, parameters, name, *states);
      return *states;
    };
    const RmspropSettings settings =
        rmsprop_settings(op, learning_rate, alpha, epsilon, weight_decay, momentum);
    run_steps<Rmsprop, 3>(
        parameters, gradients,
        {square_averages, needed(centered, "centered_averages", centered_averages),
         needed(momentum != 0, "momentum_buffers", momentum_buffers)},
        settings);
  }
};

}  // namespace
TENON_OPS(RmspropStep, RmspropSteps)
