// Steps of optimizers: SGD, Adam and AdamW, each one kernel for a parameter.
#include <algorithm>
#include <cmath>

#include "opencl/operands.hpp"

namespace tenon_opencl {

namespace {

using tenon::FloatList;
using tenon::Results;
using tenon::TensorList;

std::string step_source(DType) {
  return R"(
// body of vectors, then of single elements: X is the type, GET and PUT read and write at i.
#define EACH(body)                                                        \
  const ulong first = get_global_id(0) * V * VECTORS;                     \
  if (first >= n) return;                                                 \
  const ulong last = min(first + V * VECTORS, n);                         \
  ulong i = first;                                                        \
  for (; i + V <= last; i += V) body(VT, LOAD_AT, STORE_AT)               \
  for (; i < last; ++i) body(T, ONE_AT, PUT_AT)
#define LOAD_AT(a) LOAD(0, a + i)
#define STORE_AT(a, x) STORE(x, 0, a + i)
#define ONE_AT(a) a[i]
#define PUT_AT(a, x) a[i] = x

// Without decay a parameter that is not finite does not spoil the gradient.
#define DECAYED(X, g, p) (decay == 0 ? g : g + decay * p)
__kernel void sgd(__global T* p, __global const T* g, __global T* buffer, ulong n, int has_momentum, T rate, T decay,
                  T momentum, T fresh, int nesterov) {
#define STEP(X, GET, PUT)                                                 \
  {                                                                       \
    const X before = GET(p), given = GET(g);                              \
    X gradient = given;                                                   \
    if (decay != 0) gradient = given + decay * before;                    \
    if (has_momentum) {                                                   \
      const X moved = momentum * GET(buffer) + fresh * gradient;          \
      PUT(buffer, moved);                                                 \
      gradient = moved;                                                   \
      if (nesterov) {                                                     \
        gradient = given;                                                 \
        if (decay != 0) gradient = given + decay * before;                \
        gradient = gradient + momentum * moved;                           \
      }                                                                   \
    }                                                                     \
    PUT(p, before - rate * gradient);                                     \
  }
  EACH(STEP)
#undef STEP
}
__kernel void adam(__global T* p, __global const T* g, __global T* first_moment, __global T* second_moment, ulong n,
                   T rate, T keep1, T take1, T keep2, T take2, T epsilon, T decay, T correction, T shrink) {
#define STEP(X, GET, PUT)                                                 \
  {                                                                       \
    const X before = GET(p);                                              \
    X gradient = GET(g);                                                  \
    if (decay != 0) gradient = gradient + decay * before;                 \
    const X mean = keep1 * GET(first_moment) + take1 * gradient;          \
    const X square = keep2 * GET(second_moment) + take2 * gradient * gradient; \
    PUT(first_moment, mean);                                              \
    PUT(second_moment, square);                                           \
    PUT(p, shrink * before - rate * mean / (sqrt(square) * correction + epsilon)); \
  }
  EACH(STEP)
}
)";
}
constexpr Source kSteps{"steps", step_source};

// Whether a kernel takes them: contiguous, of one type and size, and apart from each other.
bool fits(const Tensor& parameter, const std::vector<const Tensor*>& others) {
  if (!is_dense(parameter)) return false;
  for (size_t i = 0; i < others.size(); ++i) {
    const Tensor& other = *others[i];
    if (!is_dense(other) || other.dtype() != parameter.dtype() ||
        other.sizes() != parameter.sizes() || !together(other, parameter) ||
        (parameter.numel() > 0 &&
         tenon::device::elements(other) == tenon::device::elements(parameter)) ||
        overlaps(parameter, other))
      return false;
    for (size_t k = 0; k < i; ++k) {
      if (other.numel() > 0 &&
          (tenon::device::elements(other) == tenon::device::elements(*others[k]) ||
           overlaps(other, *others[k])))
        return false;
    }
  }
  return true;
}
size_t items_of(const Tensor& parameter) {
  Instance& device = instance_of(parameter);
  const int64_t run = device.lanes(parameter.dtype()) * device.vectors();
  return whole_groups((parameter.numel() + run - 1) / run, kGroup);
}

struct Sgd {
  double rate, momentum, dampening, decay;
  bool nesterov;

  bool is_valid() const {
    return rate >= 0 && decay >= 0 && momentum >= 0 &&
           (!nesterov || (momentum != 0 && dampening == 0));
  }
  bool takes(const Tensor& parameter, const Tensor& gradient, const Tensor& buffer) const {
    if (momentum == 0) return fits(parameter, {&gradient});
    return buffer.defined() && fits(parameter, {&gradient, &buffer});
  }
  void step(const Tensor& parameter, const Tensor& gradient, const Tensor& buffer) const {
    if (parameter.numel() == 0) return;
    with_floating(parameter.dtype(), [&](auto zero) {
      using N = decltype(zero);
      instance_of(parameter).run(
          {&kSteps, "sgd", parameter.dtype()}, items_of(parameter), kGroup, memory_of(parameter),
          memory_of(gradient), memory_of(momentum == 0 ? parameter : buffer),
          number(parameter.numel()), static_cast<cl_int>(momentum != 0), static_cast<N>(rate),
          static_cast<N>(decay), static_cast<N>(momentum), static_cast<N>(1 - dampening),
          static_cast<cl_int>(nesterov));
    });
  }
};

struct SgdStep {
  static constexpr auto schema =
      "optim.sgd_step_(Tensor(a!) parameter, Tensor gradient, Tensor(b!)? momentum_buffer=None, *, "
      "float learning_rate, float momentum=0.0, float dampening=0.0, float weight_decay=0.0, bool "
      "nesterov=False) -> Tensor(a!)";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& parameter, const Tensor& gradient, const Tensor& buffer,
                         double rate, double momentum, double dampening, double decay,
                         bool nesterov) {
    const Sgd sgd{rate, momentum, dampening, decay, nesterov};
    if (!sgd.is_valid() || !sgd.takes(parameter, gradient, buffer)) return tenon::not_implemented;
    sgd.step(parameter, gradient, buffer);
    return parameter;
  }
};
struct SgdSteps {
  static constexpr auto schema =
      "optim.sgd_steps_(Tensor(a!)[] parameters, Tensor[] gradients, Tensor(b!)[]? "
      "momentum_buffers=None, *, float learning_rate, float momentum=0, float dampening=0, float "
      "weight_decay=0, bool nesterov=False) -> ()";
  static constexpr auto types = "opencl";
  static Results forward(TensorList parameters, TensorList gradients,
                         std::optional<TensorList> buffers, double rate, double momentum,
                         double dampening, double decay, bool nesterov) {
    const Sgd sgd{rate, momentum, dampening, decay, nesterov};
    if (!sgd.is_valid() || gradients.size() != parameters.size() ||
        (momentum != 0 && (!buffers || buffers->size() != parameters.size())))
      return tenon::not_implemented;
    const auto buffer = [&](int64_t i) { return momentum == 0 ? Tensor() : (*buffers)[i]; };
    for (int64_t i = 0; i < parameters.size(); ++i) {
      if (!sgd.takes(parameters[i], gradients[i], buffer(i))) return tenon::not_implemented;
    }
    for (int64_t i = 0; i < parameters.size(); ++i)
      sgd.step(parameters[i], gradients[i], buffer(i));
    return Results::of_count(0);
  }
};

struct Adam {
  int64_t count;
  double rate, beta1, beta2, epsilon, decay;
  bool decoupled;

  bool is_valid() const {
    return count >= 1 && rate >= 0 && decay >= 0 && epsilon >= 0 && beta1 >= 0 && beta1 < 1 &&
           beta2 >= 0 && beta2 < 1;
  }
  static bool takes(const Tensor& parameter, const Tensor& gradient, const Tensor& first,
                    const Tensor& second) {
    return fits(parameter, {&gradient, &first, &second});
  }
  void step(const Tensor& parameter, const Tensor& gradient, const Tensor& first,
            const Tensor& second) const {
    if (parameter.numel() == 0) return;
    const auto t = static_cast<double>(count);
    with_floating(parameter.dtype(), [&](auto zero) {
      const auto n = [&](double value) { return static_cast<decltype(zero)>(value); };
      instance_of(parameter).run(
          {&kSteps, "adam", parameter.dtype()}, items_of(parameter), kGroup, memory_of(parameter),
          memory_of(gradient), memory_of(first), memory_of(second), number(parameter.numel()),
          n(rate / (1 - std::pow(beta1, t))), n(beta1), n(1 - beta1), n(beta2), n(1 - beta2),
          n(epsilon), n(decoupled ? 0 : decay), n(1 / std::sqrt(1 - std::pow(beta2, t))),
          n(decoupled ? 1 - rate * decay : 1));
    });
  }
  Results one(const Tensor& parameter, const Tensor& gradient, const Tensor& first,
              const Tensor& second) const {
    if (!is_valid() || !takes(parameter, gradient, first, second)) return tenon::not_implemented;
    step(parameter, gradient, first, second);
    return parameter;
  }
  Results all(TensorList parameters, TensorList gradients, TensorList first,
              TensorList second) const {
    const int64_t size = parameters.size();
    if (!is_valid() || gradients.size() != size || first.size() != size || second.size() != size)
      return tenon::not_implemented;
    for (int64_t i = 0; i < size; ++i) {
      if (!takes(parameters[i], gradients[i], first[i], second[i])) return tenon::not_implemented;
    }
    for (int64_t i = 0; i < size; ++i) step(parameters[i], gradients[i], first[i], second[i]);
    return Results::of_count(0);
  }
};

#define ADAM(Name, op, default_decay, is_decoupled)                                              \
  struct Name##Step {                                                                            \
    static constexpr auto schema =                                                               \
        "optim." op                                                                              \
        "_step_(Tensor(a!) parameter, Tensor gradient, Tensor(b!) first_moment, Tensor(c!) "     \
        "second_moment, *, int step, float learning_rate, float[] betas=[0.9, 0.999], float "    \
        "epsilon=1e-8, float weight_decay=" default_decay ") -> Tensor(a!)";                     \
    static constexpr auto types = "opencl";                                                      \
    static Results forward(const Tensor& parameter, const Tensor& gradient, const Tensor& first, \
                           const Tensor& second, int64_t step, double rate, FloatList betas,     \
                           double epsilon, double decay) {                                       \
      if (betas.size() != 2) return tenon::not_implemented;                                      \
      return Adam{step, rate, betas[0], betas[1], epsilon, decay, is_decoupled}.one(             \
          parameter, gradient, first, second);                                                   \
    }                                                                                            \
  };                                                                                             \
  struct Name##Steps {                                                                           \
    static constexpr auto schema =                                                               \
        "optim." op                                                                              \
        "_steps_(Tensor(a!)[] parameters, Tensor[] gradients, Tensor(b!)[] first_moments, "      \
        "Tensor(c!)[] second_moments, *, int step, float learning_rate, float[] betas=[0.9, "    \
        "0.999], float epsilon=1e-8, float weight_decay=" default_decay ") -> ()";               \
    static constexpr auto types = "opencl";                                                      \
    static Results forward(TensorList parameters, TensorList gradients, TensorList first,        \
                           TensorList second, int64_t step, double rate, FloatList betas,        \
                           double epsilon, double decay) {                                       \
      if (betas.size() != 2) return tenon::not_implemented;                                      \
      return Adam{step, rate, betas[0], betas[1], epsilon, decay, is_decoupled}.all(             \
          parameters, gradients, first, second);                                                 \
    }                                                                                            \
  };
ADAM(Adam, "adam", "0", false)
ADAM(AdamW, "adamw", "0.01", true)

}  // namespace

}  // namespace tenon_opencl

using namespace tenon_opencl;

TENON_OVERRIDE(SgdStep)
TENON_OVERRIDE(SgdSteps)
TENON_OVERRIDE(AdamStep)
TENON_OVERRIDE(AdamSteps)
TENON_OVERRIDE(AdamWStep)
TENON_OVERRIDE(AdamWSteps)
