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
    check_rate(op, learning_rate, weight_decay);
    check_setting(op, "alpha", alpha, alpha >= 0, "zero or more");
    check_setting(op, "epsilon", epsilon, epsilon >= 0, "zero or more");
    check_setting(op, "momentum", momentum, momentum >= 0, "zero or more");
    const Tensor none;
    const auto needed = [&](bool used, const char* name, const Tensor& state) {
      if (!used) return &none;
      if (!state.defined())
        throw tenon::ValueError(std::string(op) + "(): '" + name +
                                "' is needed, zeros at the first step");
      check_step(op, parameter, name, state);
      return &state;
    };
    run_step<Rmsprop, 3>(parameter, gradient,
                         {&square_average, needed(centered, "centered_average", centered_average),
                          needed(momentum != 0, "momentum_buffer", momentum_buffer)},
                         RmspropSettings{learning_rate, alpha, epsilon, weight_decay, momentum});
    return parameter;
  }
};

}  // namespace
TENON_OP(RmspropStep)
