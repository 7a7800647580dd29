// Optimizer steps, each one pass over parameter, gradient and state.
#include <cmath>

#include "common.hpp"

namespace {

using namespace nn;

// The gradient with decay; without one a parameter that is not finite must not spoil it.
template <class T>
TENON_INLINE T decayed(T gradient, T parameter, T decay) {
  return decay == 0 ? gradient : gradient + decay * parameter;
}

struct SgdSettings {
  double learning_rate, momentum, dampening, weight_decay;
};
template <class T>
struct PlainSgd {
  TENON_INLINE static void run(T* p, const T* g, int64_t n, SgdSettings s) {
    const T rate = static_cast<T>(s.learning_rate), decay = static_cast<T>(s.weight_decay);
    TENON_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) p[i] -= rate * decayed(g[i], p[i], decay);
  }
};
template <class T, bool Nesterov>
struct MomentumSgd {
  TENON_INLINE static void run(T* p, const T* g, T* buffer, int64_t n, SgdSettings s) {
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
};

struct AdamSettings {
  double step_size, beta1, beta2, epsilon, weight_decay, inverse_root_correction;
};
template <class T>
struct Adam {
  TENON_INLINE static void run(T* p, const T* g, T* first, T* second, int64_t n, AdamSettings s) {
    const T step = static_cast<T>(s.step_size), decay = static_cast<T>(s.weight_decay);
    const T keep1 = static_cast<T>(s.beta1), take1 = static_cast<T>(1 - s.beta1);
    const T keep2 = static_cast<T>(s.beta2), take2 = static_cast<T>(1 - s.beta2);
    const T epsilon = static_cast<T>(s.epsilon),
            correction = static_cast<T>(s.inverse_root_correction);
    TENON_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) {
      const T gradient = decayed(g[i], p[i], decay);
      const T mean = keep1 * first[i] + take1 * gradient;
      const T square = keep2 * second[i] + take2 * gradient * gradient;
      first[i] = mean;
      second[i] = square;
      p[i] -= step * mean / (std::sqrt(square) * correction + epsilon);
    }
  }
};

// A tensor that a step changes: itself when it is contiguous, else a copy that is written back.
class Changed {
 public:
  explicit Changed(const Tensor& tensor)
      : tensor_(tensor), own_(tensor.is_contiguous() ? tensor : dense(tensor)) {}
  template <class T>
  T* data() const {
    return own_.data<T>();
  }
  void write_back() const {
    if (!own_.is_same(tensor_)) tenon::copy_elements(tensor_, own_);
  }

 private:
  const Tensor& tensor_;
  const Tensor own_;
};

void check_step(const char* op, const Tensor& parameter, const char* name, const Tensor& other) {
  kernel::check_same_shape(op, name, other, "parameter", parameter);
  check_same_dtype(op, "parameter", parameter, name, other);
}
void check_setting(const char* op, const char* name, double value, bool fine,
                   const char* expected) {
  if (!fine) {
    throw tenon::ValueError(std::string(op) + "(): " + name + " must be " + expected + ", got " +
                            std::to_string(value));
  }
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
    check_floating(op, "parameter", parameter);
    check_step(op, parameter, "gradient", gradient);
    check_setting(op, "learning_rate", learning_rate, learning_rate >= 0, "zero or more");
    check_setting(op, "momentum", momentum, momentum >= 0, "zero or more");
    check_setting(op, "weight_decay", weight_decay, weight_decay >= 0, "zero or more");
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
    const int64_t count = parameter.numel();
    if (count == 0) return parameter;
    const SgdSettings settings{learning_rate, momentum, dampening, weight_decay};
    const Tensor g = dense(gradient);
    const Changed changed(parameter);
    if (momentum == 0) {
      visit_floating(parameter.dtype(), [&](auto zero) {
        using T = decltype(zero);
        tenon::parallel_for(0, count, 65536, [&](int64_t begin, int64_t end) {
          kernel::run<PlainSgd<T>>(changed.data<T>() + begin, g.data<const T>() + begin,
                                   end - begin, settings);
        });
      });
    } else {
      const Changed buffer(momentum_buffer);
      visit_floating(parameter.dtype(), [&](auto zero) {
        using T = decltype(zero);
        tenon::parallel_for(0, count, 65536, [&](int64_t begin, int64_t end) {
          T *p = changed.data<T>() + begin, *b = buffer.data<T>() + begin;
          const T* from = g.data<const T>() + begin;
          if (nesterov) {
            kernel::run<MomentumSgd<T, true>>(p, from, b, end - begin, settings);
          } else {
            kernel::run<MomentumSgd<T, false>>(p, from, b, end - begin, settings);
          }
        });
      });
      buffer.write_back();
    }
    changed.write_back();
    return parameter;
  }
};

// The update, element by element, at step t = 1, 2, ...:
//   g = gradient + weight_decay * parameter
//   first = beta1 * first + (1 - beta1) * g
//   second = beta2 * second + (1 - beta2) * g * g
//   parameter = parameter - learning_rate / (1 - beta1^t) * first /
//               (sqrt(second / (1 - beta2^t)) + epsilon)
struct AdamStep {
  static constexpr auto schema =
      "optim.adam_step_(Tensor(a!) parameter, Tensor gradient, Tensor(b!) first_moment, Tensor(c!) "
      "second_moment, *, "
      "int step, float learning_rate, float beta1=0.9, float beta2=0.999, float epsilon=1e-8, "
      "float weight_decay=0) "
      "-> Tensor(a!)";
  static constexpr auto samples =
      R"([{"parameter": {"shape": [2, 3], "requires_grad": false},
           "gradient": {"shape": [2, 3], "requires_grad": false},
           "first_moment": {"shape": [2, 3], "requires_grad": false},
           "second_moment": {"shape": [2, 3], "low": 0.1, "high": 0.9, "requires_grad": false},
           "step": 2, "learning_rate": 0.1}])";
  static constexpr auto doc =
      "One step of Adam in place; the moments start as zeros and step counts from 1.";

  static Tensor forward(const Tensor& parameter, const Tensor& gradient, const Tensor& first_moment,
                        const Tensor& second_moment, int64_t step, double learning_rate,
                        double beta1, double beta2, double epsilon, double weight_decay) {
    constexpr auto op = "adam_step_";
    check_floating(op, "parameter", parameter);
    check_step(op, parameter, "gradient", gradient);
    check_step(op, parameter, "first_moment", first_moment);
    check_step(op, parameter, "second_moment", second_moment);
    check_setting(op, "learning_rate", learning_rate, learning_rate >= 0, "zero or more");
    check_setting(op, "beta1", beta1, beta1 >= 0 && beta1 < 1, "at least 0 and below 1");
    check_setting(op, "beta2", beta2, beta2 >= 0 && beta2 < 1, "at least 0 and below 1");
    check_setting(op, "epsilon", epsilon, epsilon >= 0, "zero or more");
    check_setting(op, "weight_decay", weight_decay, weight_decay >= 0, "zero or more");
    if (step < 1)
      throw tenon::ValueError("adam_step_(): step counts from 1, got " + std::to_string(step));
    const int64_t count = parameter.numel();
    if (count == 0) return parameter;
    const auto t = static_cast<double>(step);
    const AdamSettings settings{
        learning_rate / (1 - std::pow(beta1, t)), beta1, beta2, epsilon, weight_decay,
        1 / std::sqrt(1 - std::pow(beta2, t))};
    const Tensor g = dense(gradient);
    const Changed changed(parameter), first(first_moment), second(second_moment);
    visit_floating(parameter.dtype(), [&](auto zero) {
      using T = decltype(zero);
      tenon::parallel_for(0, count, 32768, [&](int64_t begin, int64_t end) {
        kernel::run<Adam<T>>(changed.data<T>() + begin, g.data<const T>() + begin,
                             first.data<T>() + begin, second.data<T>() + begin, end - begin,
                             settings);
      });
    });
    changed.write_back();
    first.write_back();
    second.write_back();
    return parameter;
  }
};

}  // namespace
TENON_OP(SgdStep)
TENON_OP(AdamStep)
