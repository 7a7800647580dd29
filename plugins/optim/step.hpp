// What steps of optimizers share: checks, layouts, and the loop over parameter, gradient and states.
#pragma once

#include <array>
#include <cmath>
#include <string>

#include <tenon/kernel/check.hpp>
#include <tenon/kernel/rows.hpp>
#include <tenon/kernel/visit.hpp>
#include <tenon/plugin.hpp>

namespace optim {

using tenon::Tensor;
namespace kernel = tenon::kernel;

// The gradient with decay; without one a parameter that is not finite must not spoil it.
template <class T>
TENON_INLINE T decayed(T gradient, T parameter, T decay) {
  return decay == 0 ? gradient : gradient + decay * parameter;
}

// Where a step changes a tensor: itself when it is contiguous, else a copy that is written back.
inline Tensor dense(const Tensor& tensor) {
  return tensor.defined() ? tenon::contiguous_as(tensor, tensor.dtype()) : tensor;
}
inline void write_back(const Tensor& tensor, const Tensor& changed) {
  if (tensor.defined() && !changed.is_same(tensor)) tenon::copy_elements(tensor, changed);
}

inline void check_step(const char* op, const Tensor& parameter, const char* name,
                       const Tensor& other) {
  kernel::check_same_shape(op, name, other, "parameter", parameter);
  kernel::check_same_dtype(op, "parameter", parameter, name, other);
}
inline void check_setting(const char* op, const char* name, double value, bool fine,
                          const char* expected) {
  if (!fine) {
    throw tenon::ValueError(std::string(op) + "(): " + name + " must be " + expected + ", got " +
                            std::to_string(value));
  }
}
inline void check_rate(const char* op, double learning_rate, double weight_decay) {
  check_setting(op, "learning_rate", learning_rate, learning_rate >= 0, "zero or more");
  check_setting(op, "weight_decay", weight_decay, weight_decay >= 0, "zero or more");
}
// Steps count from 1.
inline void check_number(const char* op, int64_t step) {
  if (step < 1)
    throw tenon::ValueError(std::string(op) + "(): step counts from 1, got " +
                            std::to_string(step));
}

// Runs Kernel<T>::run(parameter, gradient, states, count, settings) over ranges of the elements, in
// parallel. States that are undefined are null there.
template <template <class> class Kernel, size_t States, class Settings>
void run_step(const Tensor& parameter, const Tensor& gradient,
              const std::array<const Tensor*, States>& states, const Settings& settings) {
  const int64_t count = parameter.numel();
  if (count == 0) return;
  const Tensor p = dense(parameter), g = dense(gradient);
  std::array<Tensor, States> own;
  for (size_t i = 0; i < States; ++i) own[i] = dense(*states[i]);
  kernel::visit<tenon::floating_dtypes>(parameter.dtype(), [&](auto zero) {
    using T = decltype(zero);
    tenon::parallel_for(0, count, 32768, [&](int64_t begin, int64_t end) {
      std::array<T*, States> at{};
      for (size_t i = 0; i < States; ++i)
        at[i] = own[i].defined() ? own[i].template data<T>() + begin : nullptr;
      kernel::run<Kernel<T>>(p.template data<T>() + begin, g.template data<const T>() + begin, at,
                             end - begin, settings);
    });
  });
  write_back(parameter, p);
  for (size_t i = 0; i < States; ++i) write_back(*states[i], own[i]);
}

}  // namespace optim
