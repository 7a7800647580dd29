// Shared code of steps of optimizers: checks, layouts, and the loop over parameter, gradient and
// states.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <tenon/plugin.hpp>
#include <tenon/kernel/check.hpp>
#include <tenon/kernel/rows.hpp>
#include <tenon/kernel/visit.hpp>

namespace optim {

using tenon::Tensor;
using tenon::TensorList;
namespace kernel = tenon::kernel;

// The gradient with decay; without one a parameter that is not finite must not spoil it.
template <class T>
TENON_INLINE T decayed(T gradient, T parameter, T decay) {
  return decay == 0 ? gradient : gradient + decay * parameter;
}

// The tensor that a step changes: itself when it is contiguous, else a copy that is written back.
inline Tensor dense(const Tensor& tensor) {
  return tensor.defined() ? tenon::contiguous_as(tensor, tensor.dtype()) : tensor;
}
inline void write_back(const Tensor& tensor, const Tensor& changed) {
  if (tensor.defined() && !changed.is_same(tensor)) tenon::copy_elements(tensor, changed);
}

inline void check_step(const char* op, const Tensor& parameter, const char* name,
                       const Tensor& other, const char* parameter_name = "parameter") {
  kernel::check_same_shape(op, name, other, parameter_name, parameter);
  kernel::check_same_dtype(op, parameter_name, parameter, name, other);
}
// Checks each tensor of a list, which must be as long as the parameters.
inline void check_steps(const char* op, TensorList parameters, const char* name,
                        TensorList others) {
  if (others.size() != parameters.size()) {
    throw tenon::ValueError(std::string(op) + "(): '" + name + "' has " +
                            std::to_string(others.size()) + " tensors, but 'parameters' has " +
                            std::to_string(parameters.size()));
  }
  for (int64_t i = 0; i < parameters.size(); ++i) {
    const Tensor &parameter = parameters[i], &other = others[i];
    if (__builtin_expect(kernel::same_shape(parameter.shape(), other.shape()) &&
                             parameter.dtype() == other.dtype(),
                         1))
      continue;
    const std::string place = "[" + std::to_string(i) + "]";
    check_step(op, parameter, (name + place).c_str(), other, ("parameters" + place).c_str());
  }
}
inline void check_parameters(const char* op, TensorList parameters) {
  for (const Tensor& parameter : parameters) kernel::check_floating(op, "parameters", parameter);
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

// A parameter with its gradient and states, dense.
template <size_t States>
struct StepTensors {
  Tensor parameter, gradient;
  std::array<Tensor, States> states;
  int64_t begin = 0;  // offset of its elements among those of all

  // Runs Kernel<T>::run(parameter, gradient, states, count, settings) over a range of the elements.
  // States that are undefined are null there.
  template <template <class> class Kernel, class Settings>
  void run(int64_t from, int64_t to, const Settings& settings) const {
    kernel::visit<tenon::floating_dtypes>(parameter.dtype(), [&](auto zero) {
      using T = decltype(zero);
      std::array<T*, States> at{};
      for (size_t i = 0; i < States; ++i)
        at[i] = states[i].defined() ? states[i].template data<T>() + from : nullptr;
      kernel::run<Kernel<T>>(parameter.template data<T>() + from,
                             gradient.template data<const T>() + from, at, to - from, settings);
    });
  }
};

inline constexpr int64_t kStepGrain = 32768;

// The step of one parameter, in parallel.
template <template <class> class Kernel, size_t States, class Settings>
void run_step(const Tensor& parameter, const Tensor& gradient,
              const std::array<const Tensor*, States>& states, const Settings& settings) {
  const int64_t count = parameter.numel();
  if (count == 0) return;
  StepTensors<States> tensors{dense(parameter), dense(gradient), {}};
  for (size_t i = 0; i < States; ++i) tensors.states[i] = dense(*states[i]);
  tenon::parallel_for(0, count, kStepGrain, [&](int64_t begin, int64_t end) {
    tensors.template run<Kernel>(begin, end, settings);
  });
  write_back(parameter, tensors.parameter);
  for (size_t i = 0; i < States; ++i) write_back(*states[i], tensors.states[i]);
}

// The steps of a list of parameters, with the same bits: threads share the elements of all of them.
// A list of states that is empty stands for states that are undefined.
template <template <class> class Kernel, size_t States, class Settings>
void run_steps(TensorList parameters, TensorList gradients,
               const std::array<TensorList, States>& states, const Settings& settings) {
  std::vector<StepTensors<States>> all;
  all.reserve(static_cast<size_t>(parameters.size()));
  int64_t count = 0;
  for (int64_t k = 0; k < parameters.size(); ++k) {
    StepTensors<States>& one = all.emplace_back();
    one = {dense(parameters[k]), dense(gradients[k]), {}, count};
    for (size_t i = 0; i < States; ++i)
      if (states[i].size() != 0) one.states[i] = dense(states[i][k]);
    count += parameters[k].numel();
  }
  tenon::parallel_for(0, count, kStepGrain, [&](int64_t begin, int64_t end) {
    // The last one that begins no later.
    auto one = std::upper_bound(all.begin(), all.end(), begin,
                                [](int64_t at, const auto& other) { return at < other.begin; }) -
               1;
    for (; begin < end; ++one) {
      const int64_t to = std::min(end - one->begin, one->parameter.numel());
      one->template run<Kernel>(begin - one->begin, to, settings);
      begin = one->begin + to;
    }
  });
  for (int64_t k = 0; k < parameters.size(); ++k) {
    const StepTensors<States>& one = all[static_cast<size_t>(k)];
    write_back(parameters[k], one.parameter);
    for (size_t i = 0; i < States; ++i)
      if (states[i].size() != 0) write_back(states[i][k], one.states[i]);
  }
}

}  // namespace optim
