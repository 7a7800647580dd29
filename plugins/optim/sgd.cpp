// Gradient descent with momentum.
#include "step.hpp"

namespace {

using namespace optim;

struct SgdSettings {
  double learning_rate, momentum, dampening, weight_decay;
  bool nesterov;
};
template <class T>
struct PlainSgd {
  TENON_INLINE static void run(T* p, const T* g, std::array<T*, 1>, int64_t n, SgdSettings s) {
    const T rate = static_cast<T>(s.learning_rate), decay = static_cast<T>(s.weight_decay);
    TENON_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) p[i] -= rate * decayed(g[i], p[i], decay);
  }
};
template <class T, bool Nesterov>
TENON_INLINE void move(T* p, const T* g, T* buffer, int64_t n, const SgdSettings& s) {
  const T rate = static_cast<T>(s.learning_rate), decay = static_cast<T>(s.weight_decay);
  const T momentum = static_cast<T>(s.momentum), fresh = static_cast<T>(1 - s.dampening);
  TENON_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    const T gradient = decayed(g[i], p[i], decay);
    const T moved = momentum * buffer[i] + fresh * gradient;
    buffer[i] = moved;
    p[i] -= rate * (Nesterov ? gradient + momentum * moved : moved);
  }
}
template <class T>
struct MomentumSgd {
  TENON_INLINE static void run(T* p, const T* g, std::array<T*, 1> states, int64_t n,
                               SgdSettings s) {
    if (s.nesterov)
      move<T, true>(p, g, states[0], n, s);
    else
      move<T, false>(p, g, states[0], n, s);
  }
};

SgdSettings sgd_settings(const char* op, double learning_rate, double momentum, double dampening,
                         double weight_decay, bool nesterov) {
  check_rate(op, learning_rate, weight_decay);
  check_setting(op, "momentum", momentum, momentum >= 0, "zero or more");
  if (nesterov && (momentum == 0 || dampening != 0)) {
    throw tenon::ValueError(std::string(op) + "(): nesterov needs a momentum and no dampening");
  }
  return {learning_rate, momentum, dampening, weight_decay, nesterov};
}

[[noreturn]] void refuse_missing(const char* op, const char* name) {
  throw tenon::ValueError(std::string(op) + "(): momentum needs '" + name +
                          "', zeros at the first step");
}

// The update, element by element, with what PyTorch calls maximize=False:
//   g = gradient + weight_decay * parameter
//   with momentum:  buffer = momentum * buffer + (1 - dampening) * g
//                   g = nesterov ? g + momentum * buffer : buffer
//   parameter = parameter - learning_rate * g
// The first step is given a buffer of zeros, so that without dampening it becomes the gradient; a
// dampening also dampens the first step.
struct SgdStep {
  static constexpr auto schema =
      "optim.sgd_step_(Tensor(a!) parameter, Tensor gradient, Tensor(b!)? momentum_buffer=None, *, "
      "float learning_rate, float momentum=0, float dampening=0, float weight_decay=0, bool "
      "nesterov=False) -> "
      "Tensor(a!)";
  static constexpr auto samples =
      R"([{"parameter": {"shape": [2, 3], "requires_grad": false},
           "gradient": {"shape": [2, 3], "requires_grad": false}, "learning_rate": 0.1},
          {"parameter": {"shape": [2, 3], "requires_grad": false},
           "gradient": {"shape": [2, 3], "requires_grad": false},
           "momentum_buffer": {"shape": [2, 3], "requires_grad": false},
           "learning_rate": 0.1, "momentum": 0.9, "weight_decay": 0.01, "nesterov": true}])";
  static constexpr auto doc =
      "One step of gradient descent in place; momentum_buffer starts as zeros and is only needed "
      "with momentum.";

  static Tensor forward(const Tensor& parameter, const Tensor& gradient,
                        const Tensor& momentum_buffer, double learning_rate, double momentum,
                        double dampening, double weight_decay, bool nesterov) {
    constexpr auto op = "sgd_step_";
    kernel::check_floating(op, "parameter", parameter);
    check_step(op, parameter, "gradient", gradient);
    const SgdSettings settings =
        sgd_settings(op, learning_rate, momentum, dampening, weight_decay, nesterov);
    if (momentum != 0) {
      if (!momentum_buffer.defined()) refuse_missing(op, "momentum_buffer");
      check_step(op, parameter, "momentum_buffer", momentum_buffer);
    }
    const Tensor none;
    if (momentum == 0)
      run_step<PlainSgd, 1>(parameter, gradient, {&none}, settings);
    else
      run_step<MomentumSgd, 1>(parameter, gradient, {&momentum_buffer}, settings);
    return parameter;
  }
};

struct SgdSteps {
  static constexpr auto schema =
      "optim.sgd_steps_(Tensor(a!)[] parameters, Tensor[] gradients, Tensor(b!)[]? "
      "momentum_buffers=None, *, float learning_rate, float momentum=0, float dampening=0, float "
      "weight_decay=0, bool nesterov=False) -> ()";
  static constexpr auto samples =
      R"([{"parameters": [{"shape": [2, 3], "requires_grad": false}, {"shape": [2], "requires_grad": false}],
           "gradients": [{"shape": [2, 3], "requires_grad": false}, {"shape": [2], "requires_grad": false}],
           "momentum_buffers": [{"shape": [2, 3], "requires_grad": false}, {"shape": [2], "requires_grad": false}],
           "learning_rate": 0.1, "momentum": 0.9}])";
  static constexpr auto doc = "sgd_step_ of each parameter of a list, in one pass.";

  static void forward(TensorList parameters, TensorList gradients,
                      const std::optional<TensorList>& momentum_buffers, double learning_rate,
                      double momentum, double dampening, double weight_decay, bool nesterov) {
    constexpr auto op = "sgd_steps_";
    check_parameters(op, parameters);
    check_steps(op, parameters, "gradients", gradients);
    const SgdSettings settings =
        sgd_settings(op, learning_rate, momentum, dampening, weight_decay, nesterov);
    if (momentum == 0) return run_steps<PlainSgd, 1>(parameters, gradients, {}, settings);
    if (!momentum_buffers) refuse_missing(op, "momentum_buffers");
    check_steps(op, parameters, "momentum_buffers", *momentum_buffers);
    run_steps<MomentumSgd, 1>(parameters, gradients, {*momentum_buffers}, settings);
  }
};

}  // namespace
TENON_OPS(SgdStep, SgdSteps)
