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
    check_rate(op, learning_rate, weight_decay);
    check_setting(op, "momentum", momentum, momentum >= 0, "zero or more");
    if (nesterov && (momentum == 0 || dampening != 0)) {
      throw tenon::ValueError("sgd_step_(): nesterov needs a momentum and no dampening");
    }
    if (momentum != 0) {
      if (!momentum_buffer.defined()) {
        throw tenon::ValueError(
            "sgd_step_(): momentum needs 'momentum_buffer', zeros at the first step");
      }
      check_step(op, parameter, "momentum_buffer", momentum_buffer);
    }
    const SgdSettings settings{learning_rate, momentum, dampening, weight_decay, nesterov};
    const Tensor none;
    if (momentum == 0)
      run_step<PlainSgd, 1>(parameter, gradient, {&none}, settings);
    else
      run_step<MomentumSgd, 1>(parameter, gradient, {&momentum_buffer}, settings);
    return parameter;
  }
};

}  // namespace
TENON_OP(SgdStep)
