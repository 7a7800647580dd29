// Numeric gradient checks: backward, forward mode and double backward against central differences.
//
//   gradcheck([](const Tensor& x) { return x * x; }, {x});
//   gradgradcheck([](const std::vector<Tensor>& in) { return mul(in[0], in[1]); }, {a, b});
//   gradcheck(Op("add"), {a, b}, {.atol = 1e-4});   // designated initializers: C++20
//
// The function takes its inputs as tensors or as one vector, and returns a Tensor or a vector of
// them. Inputs should be f64; those that require grad are checked, element by element. Not part of
// the umbrella headers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "tenon/autograd.hpp"
#include "tenon/op.hpp"

TENON_NAMESPACE_BEGIN

struct GradcheckOptions {
  double eps = 1e-6;  // step of the differences
  double atol = 1e-5, rtol = 1e-3;
  bool raise_exception =
      true;  // false: a mismatch returns false. Wrong use and the function's own errors throw
  double nondet_tol = 0;             // how much two runs of one backward may differ
  bool check_undefined_grad = true;  // gradients of zero must give zero
  bool check_grad_dtypes = false;    // gradients must have their input's dtype
  bool check_forward_ad = false;
  bool check_backward_ad = true;
};

namespace detail {

using CheckedFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

inline std::vector<Tensor> as_list(Tensor result) { return {std::move(result)}; }
inline std::vector<Tensor> as_list(std::vector<Tensor> result) { return result; }
template <class... T>
std::vector<Tensor> as_list(const std::tuple<T...>& results) {
  return std::apply([](const auto&... parts) { return std::vector<Tensor>{parts...}; }, results);
}

template <class F, size_t... I>
constexpr bool takes_tensors(std::index_sequence<I...>) {
  return std::is_invocable_v<F, std::conditional_t<(I >= 0), const Tensor&, void>...>;
}
template <class F, size_t... I>
std::vector<Tensor> spread(F& function, const std::vector<Tensor>& inputs,
                           std::index_sequence<I...>) {
  return as_list(function(inputs[I]...));
}
template <size_t Count, class F>
std::vector<Tensor> call_spread(F& function, const std::vector<Tensor>& inputs) {
  using Indices = std::make_index_sequence<Count>;
  if constexpr (takes_tensors<F&>(Indices{})) {
    if (inputs.size() != Count) {
      throw ArgumentError("gradcheck(): the function takes " + std::to_string(Count) +
                          " tensors, but " + std::to_string(inputs.size()) + " inputs are given");
    }
    return spread(function, inputs, Indices{});
  } else {
    static_assert(Count < 8, "the function must take a vector of tensors, or one to eight tensors");
    return call_spread<Count + 1>(function, inputs);
  }
}

template <class F>
CheckedFunction checked_function(F function) {
  return [function](const std::vector<Tensor>& inputs) mutable -> std::vector<Tensor> {
    if constexpr (std::is_same_v<F, Op>) {
      std::vector<tenon_value> values;
      for (const Tensor& input : inputs) values.push_back(Argument(input).value());
      const auto result_count = static_cast<size_t>(host().op_result_count(function.handle()));
      std::vector<tenon_value> results(result_count == 0 ? 1 : result_count);
      check(host().op_call, function.handle(), values.data(), static_cast<int64_t>(values.size()),
            results.data());
      std::vector<Tensor> tensors;
      for (const tenon_value& result : results) {
        Value value(result);
        if (value.is_tensor())
          tensors.push_back(value.tensor());
        else if (result.tag == TENON_VALUE_TENSOR_LIST)
          for (Tensor& item : value.tensors()) tensors.push_back(item);
      }
      return tensors;
    } else if constexpr (std::is_invocable_v<F&, const std::vector<Tensor>&>) {
      return as_list(function(inputs));
    } else {
      return call_spread<1>(function, inputs);
    }
  };
}

// A check that failed; not an Error, so that those of the function pass through untouched.
struct GradcheckFailure {
  std::string message;
};

inline std::string number_text(double number) {
  char buffer[32];
  std::snprintf(buffer, sizeof(buffer), "%.6g", number);
  return buffer;
}

// d output[k] / d input[i] at [i * outputs + k].
struct Jacobian {
  int64_t inputs = 0, outputs = 0;
  std::vector<double> values;
  Jacobian(int64_t input_count, int64_t output_count)
      : inputs(input_count),
        outputs(output_count),
        values(static_cast<size_t>(input_count * output_count)) {}
  double& at(int64_t i, int64_t k) { return values[static_cast<size_t>(i * outputs + k)]; }
  double at(int64_t i, int64_t k) const { return values[static_cast<size_t>(i * outputs + k)]; }
  std::string text() const {
    const int64_t shape[] = {inputs, outputs};
    return from_buffer(values.data(), IntList(shape, 2)).text();
  }
};

// Shifts one element of an input, and puts it back whatever happens.
class Shift {
 public:
  Shift(const Tensor& input, int64_t element) : single_(input.dtype() == f32) {
    int64_t offset = 0;
    for (int64_t d = input.dim() - 1; d >= 0; --d) {
      offset += element % input.shape()[d] * input.strides()[d];
      element /= input.shape()[d];
    }
    place_ = static_cast<char*>(input.view_record().data) + offset * element_size(input.dtype());
    original_ = single_ ? static_cast<double>(*reinterpret_cast<float*>(place_))
                        : *reinterpret_cast<double*>(place_);
  }
  ~Shift() { by(0); }
  Shift(const Shift&) = delete;
  Shift& operator=(const Shift&) = delete;
  void by(double step) {
    if (single_)
      *reinterpret_cast<float*>(place_) = static_cast<float>(original_ + step);
    else
      *reinterpret_cast<double*>(place_) = original_ + step;
  }

 private:
  bool single_;
  char* place_;
  double original_;
};

class GradientChecker {
 public:
  GradientChecker(const char* name, CheckedFunction function, const std::vector<Tensor>& inputs,
                  const GradcheckOptions& options)
      : name_(name), function_(std::move(function)), inputs_(inputs), options_(options) {}

  bool run() {
    check_inputs();
    try {
      check_all();
      return true;
    } catch (const GradcheckFailure& failure) {
      if (!options_.raise_exception) return false;
      throw GradcheckError(failure.message);
    }
  }

 private:
  void check_inputs() {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Tensor& input = inputs_[i];
      if (!input.defined() || !is_floating(input.dtype()) || !input.requires_grad()) continue;
      checked_.push_back(i);
      for (int64_t d = 0; d < input.dim(); ++d) {
        if (input.strides()[d] == 0 && input.shape()[d] > 1) {
          throw ArgumentError(std::string(name_) + "(): dimension " + std::to_string(d) +
                              " of input " + std::to_string(i) +
                              " has stride 0, so its elements cannot be changed one by one: "
                              "pass a contiguous copy, and expand inside of the function");
        }
      }
      if (input.dtype() == f32) {
        const std::string text = std::string(name_) + "(): input " + std::to_string(i) +
                                 " is f32; differences are reliable in f64 only";
        host().log(3, "gradcheck", text.data(), static_cast<int64_t>(text.size()));
      }
    }
    if (checked_.empty()) {
      throw ArgumentError(
          std::string(name_) +
          "(): no input requires grad: call requires_grad_() on at least one floating input");
    }
  }

  void check_all() {
    std::vector<Tensor> outputs;
    {
      const EnableGrad scope;
      outputs = function_(inputs_);
    }
    std::vector<size_t> differentiable;
    for (size_t o = 0; o < outputs.size(); ++o) {
      if (outputs[o].defined() && is_floating(outputs[o].dtype()) && outputs[o].requires_grad()) {
        differentiable.push_back(o);
      }
    }
    const auto numerical = numerical_jacobians(outputs);
    if (differentiable.empty()) {
      for (const auto& of_input : numerical) {
        for (const Jacobian& jacobian : of_input) {
          for (const double value : jacobian.values) {
            if (std::abs(value) > options_.atol) {
              throw GradcheckFailure{
                  std::string(name_) +
                  "(): no output requires grad, but the numerical gradient "
                  "is not zero: the function cuts the graph, or an op in it has no gradient"};
            }
          }
        }
      }
      return;
    }
    if (options_.check_backward_ad) {
      for (const size_t o : differentiable) check_backward(outputs, o, numerical);
      if (options_.check_undefined_grad) check_zero_gradients(outputs, differentiable);
    }
    if (options_.check_forward_ad) check_forward(outputs, numerical);
  }

  std::vector<Tensor> evaluate() const {
    const NoGrad scope;
    return function_(inputs_);
  }
  static std::vector<double> values_of(const Tensor& tensor) {
    return tensor.defined() ? tensor.to_vector<double>() : std::vector<double>();
  }

  // [checked input][output]
  using Jacobians = std::vector<std::vector<Jacobian>>;
  Jacobians empty_jacobians(const std::vector<Tensor>& outputs) const {
    Jacobians all(checked_.size());
    for (size_t c = 0; c < checked_.size(); ++c) {
      for (const Tensor& output : outputs) {
        const bool counts = output.defined() && is_floating(output.dtype());
        all[c].emplace_back(inputs_[checked_[c]].numel(), counts ? output.numel() : 0);
      }
    }
    return all;
  }
  Jacobians numerical_jacobians(const std::vector<Tensor>& outputs) const {
    Jacobians all = empty_jacobians(outputs);
    for (size_t c = 0; c < checked_.size(); ++c) {
      const Tensor& input = inputs_[checked_[c]];
      for (int64_t i = 0; i < input.numel(); ++i) {
        Shift shift(input, i);
        shift.by(options_.eps);
        std::vector<std::vector<double>> above;
        for (const Tensor& output : evaluate()) above.push_back(values_of(output));
        shift.by(-options_.eps);
        const std::vector<Tensor> below = evaluate();
        for (size_t o = 0; o < outputs.size(); ++o) {
          Jacobian& jacobian = all[c][o];
          const std::vector<double> low = values_of(below[o]);
          for (int64_t k = 0; k < jacobian.outputs; ++k) {
            const auto at = static_cast<size_t>(k);
            jacobian.at(i, k) = (above[o][at] - low[at]) / (2 * options_.eps);
          }
        }
      }
    }
    return all;
  }

  std::vector<Tensor> checked_inputs() const {
    std::vector<Tensor> list;
    for (const size_t i : checked_) list.push_back(inputs_[i]);
    return list;
  }
  std::vector<Tensor> backward_once(const Tensor& output, const Tensor& seed) const {
    GradientOptions options;
    options.seeds = {seed};
    options.retain_graph = true;
    options.allow_unused = true;
    return gradients({output}, checked_inputs(), options);
  }
  // Zeros with a one in the place of element k.
  static Tensor unit(const Tensor& like, int64_t k) {
    const Tensor result = empty_tensor(like.shape(), like.dtype());
    fill_elements(result, 0);
    if (k < 0) return result;
    if (result.dtype() == f32)
      result.data<float>()[k] = 1;
    else
      result.data<double>()[k] = 1;
    return result;
  }

  void check_backward(const std::vector<Tensor>& outputs, size_t o,
                      const Jacobians& numerical) const {
    const Tensor& output = outputs[o];
    Jacobians analytical = empty_jacobians(outputs);
    for (int64_t k = 0; k < output.numel(); ++k) {
      const Tensor seed = unit(output, k);
      const std::vector<Tensor> first = backward_once(output, seed),
                                second = backward_once(output, seed);
      for (size_t c = 0; c < checked_.size(); ++c) {
        if (!first[c].defined()) continue;
        if (options_.check_grad_dtypes && first[c].dtype() != inputs_[checked_[c]].dtype()) {
          throw GradcheckFailure{"the gradient of output " + std::to_string(o) +
                                 " with respect to input " + std::to_string(checked_[c]) +
                                 " has dtype " + dtype_text(first[c].dtype()) +
                                 ", but the input has " + dtype_text(inputs_[checked_[c]].dtype())};
        }
        const std::vector<double> values = values_of(first[c]), again = values_of(second[c]);
        for (int64_t i = 0; i < inputs_[checked_[c]].numel(); ++i) {
          const auto at = static_cast<size_t>(i);
          analytical[c][o].at(i, k) = values[at];
          check_repeatable(values[at], again.empty() ? 0 : again[at], o, c);
        }
      }
    }
    for (size_t c = 0; c < checked_.size(); ++c) {
      compare("Jacobian", numerical[c][o], analytical[c][o], o, c);
    }
  }
  void check_repeatable(double a, double b, size_t o, size_t c) const {
    if (a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= options_.nondet_tol)
      return;
    throw GradcheckFailure{
        "Backward is not reentrant: run twice with the same gradient of output " +
        std::to_string(o) + " it gave " + number_text(a) + " and " + number_text(b) +
        " for input " + std::to_string(checked_[c]) + ", which differ by more than nondet_tol (" +
        number_text(options_.nondet_tol) + ")"};
  }
  void check_zero_gradients(const std::vector<Tensor>& outputs,
                            const std::vector<size_t>& differentiable) const {
    GradientOptions options;
    options.retain_graph = options.allow_unused = true;
    std::vector<Tensor> roots;
    for (const size_t o : differentiable) {
      roots.push_back(outputs[o]);
      options.seeds.push_back(unit(outputs[o], -1));
    }
    const std::vector<Tensor> results = gradients(roots, checked_inputs(), options);
    for (size_t c = 0; c < checked_.size(); ++c) {
      for (const double value : values_of(results[c])) {
        if (value == 0 || std::isnan(value)) continue;
        throw GradcheckFailure{"gradients of zero must give zero, but input " +
                               std::to_string(checked_[c]) + " got " + number_text(value) +
                               ": backward adds something of its own"};
      }
    }
  }
  void check_forward(const std::vector<Tensor>& outputs, const Jacobians& numerical) const {
    Jacobians analytical = empty_jacobians(outputs);
    for (size_t c = 0; c < checked_.size(); ++c) {
      const Tensor& input = inputs_[checked_[c]];
      for (int64_t i = 0; i < input.numel(); ++i) {
        const DualLevel level;
        std::vector<Tensor> duals = inputs_;
        duals[checked_[c]] = make_dual(input, unit(input, i));
        const std::vector<Tensor> results = function_(duals);
        for (size_t o = 0; o < outputs.size(); ++o) {
          Jacobian& jacobian = analytical[c][o];
          if (jacobian.outputs == 0) continue;
          const std::vector<double> tangent = values_of(unpack_dual(results[o]).tangent);
          for (int64_t k = 0; k < jacobian.outputs && !tangent.empty(); ++k) {
            jacobian.at(i, k) = tangent[static_cast<size_t>(k)];
          }
        }
      }
      for (size_t o = 0; o < outputs.size(); ++o) {
        compare("Jacobian computed with forward mode", numerical[c][o], analytical[c][o], o, c);
      }
    }
  }

  bool close(double analytical, double numerical) const {
    return analytical == numerical ||
           std::abs(analytical - numerical) <= options_.atol + options_.rtol * std::abs(numerical);
  }
  void compare(const char* what, const Jacobian& numerical, const Jacobian& analytical, size_t o,
               size_t c) const {
    std::vector<int64_t> wrong;
    for (size_t i = 0; i < numerical.values.size(); ++i) {
      if (!close(analytical.values[i], numerical.values[i]))
        wrong.push_back(static_cast<int64_t>(i));
    }
    if (wrong.empty()) return;
    const auto error = [&](int64_t i) {
      const auto at = static_cast<size_t>(i);
      const double difference = std::abs(analytical.values[at] - numerical.values[at]);
      return std::isnan(difference) ? HUGE_VAL : difference;
    };
    std::stable_sort(wrong.begin(), wrong.end(),
                     [&](int64_t a, int64_t b) { return error(a) > error(b); });

    std::string text = std::string(what) + " mismatch for output " + std::to_string(o) +
                       " with respect to input " + std::to_string(checked_[c]) +
                       ",\nnumerical:" + numerical.text() + "\nanalytical:" + analytical.text() +
                       "\n" + std::to_string(wrong.size()) + " of " +
                       std::to_string(numerical.values.size()) + " entries differ; the worst:";
    for (size_t w = 0; w < wrong.size() && w < 3; ++w) {
      const auto at = static_cast<size_t>(wrong[w]);
      const double n = numerical.values[at], a = analytical.values[at];
      text += "\n  d output[" + std::to_string(wrong[w] % numerical.outputs) + "] / d input[" +
              std::to_string(wrong[w] / numerical.outputs) + "]: numerical " + number_text(n) +
              ", analytical " + number_text(a) + ", absolute error " +
              number_text(std::abs(a - n)) + ", relative error " +
              number_text(n == 0 ? HUGE_VAL : std::abs((a - n) / n));
    }
    const std::string cause = likely_cause(numerical, analytical, wrong, o, c);
    if (!cause.empty()) text += "\nlikely cause: " + cause;
    text += "\ninputs:" + inputs_text();
    throw GradcheckFailure{text};
  }

  // ---- what may be behind a mismatch ----
  std::string likely_cause(const Jacobian& numerical, const Jacobian& analytical,
                           const std::vector<int64_t>& wrong, size_t o, size_t c) const {
    const Tensor& input = inputs_[checked_[c]];
    const std::vector<double> once = values_of(evaluate()[o]), twice = values_of(evaluate()[o]);
    for (size_t k = 0; k < once.size(); ++k) {
      if (once[k] != twice[k] && !(std::isnan(once[k]) && std::isnan(twice[k]))) {
        return "the function gives different results for the same inputs";
      }
    }
    if (input.dtype() == f32) {
      return "the input is f32, whose rounding drowns differences: use f64, or an eps near 1e-3 "
             "and wider tolerances";
    }
    bool all_zero = true;
    double ratio = 0;
    bool proportional = true;
    for (size_t i = 0; i < numerical.values.size(); ++i) {
      const double n = numerical.values[i], a = analytical.values[i];
      if (a != 0) all_zero = false;
      if (std::abs(n) <= options_.atol) {
        proportional = proportional && std::abs(a) <= 100 * options_.atol;
        continue;
      }
      if (ratio == 0) ratio = a / n;
      proportional =
          proportional && std::abs(a / n - ratio) <= 10 * options_.rtol * std::abs(ratio);
    }
    if (all_zero)
      return "the analytical gradient is zero everywhere: the gradient rule leaves this input out, "
             "or the graph is cut";
    const int64_t i = wrong[0] / numerical.outputs, k = wrong[0] % numerical.outputs;
    if (is_kink(input, i, o, k, once)) {
      return "the function is not smooth at input[" + std::to_string(i) +
             "]: move the inputs away from the kink";
    }
    if (proportional && std::isfinite(ratio) && ratio != 0) {
      return ratio < 0 && close(-ratio, 1) ? "the analytical gradient has the wrong sign"
                                           : "the analytical gradient is " + number_text(ratio) +
                                                 " times the numerical one: a factor is missing";
    }
    return "";
  }
  // Whether the slopes on both sides differ.
  bool is_kink(const Tensor& input, int64_t i, size_t o, int64_t k,
               const std::vector<double>& here) const {
    const auto at = static_cast<size_t>(k);
    Shift shift(input, i);
    shift.by(options_.eps);
    const double above = values_of(evaluate()[o])[at];
    shift.by(-options_.eps);
    const double below = values_of(evaluate()[o])[at];
    const double right = (above - here[at]) / options_.eps,
                 left = (here[at] - below) / options_.eps;
    return std::abs(right - left) > 100 * (options_.atol + options_.rtol * std::abs(right));
  }
  // As code that makes the inputs anew, while they are small.
  std::string inputs_text() const {
    std::string text;
    for (const Tensor& input : inputs_) {
      text += "\n  ";
      if (!input.defined()) {
        text += "tenon::Tensor()";
      } else if (input.numel() > 64) {
        text += "shape [";
        for (int64_t d = 0; d < input.dim(); ++d)
          text += (d == 0 ? "" : ", ") + std::to_string(input.shape()[d]);
        text += std::string("], ") + dtype_text(input.dtype());
      } else {
        const std::vector<double> values = values_of(input);
        size_t next = 0;
        std::string nested;
        write_nested(input, 0, values, next, nested);
        text += "tenon::tensor(" + nested +
                ", tenon::" + (input.dtype() == boolean ? "boolean" : dtype_text(input.dtype())) +
                ")";
        if (input.requires_grad()) text += ".requires_grad_()";
      }
    }
    return text;
  }
  static void write_nested(const Tensor& input, int64_t depth, const std::vector<double>& values,
                           size_t& next, std::string& text) {
    if (depth == input.dim()) {
      char buffer[32];
      std::snprintf(buffer, sizeof(buffer), "%.17g", values[next++]);
      text += buffer;
      return;
    }
    text += '{';
    for (int64_t i = 0; i < input.shape()[depth]; ++i) {
      if (i != 0) text += ", ";
      write_nested(input, depth + 1, values, next, text);
    }
    text += '}';
  }

  const char* name_;
  CheckedFunction function_;
  std::vector<Tensor> inputs_;
  GradcheckOptions options_;
  std::vector<size_t> checked_;  // inputs that require grad
};

// Repeatable numbers between -1 and 1, away from 0.
inline Tensor arbitrary_like(const Tensor& like, uint64_t seed) {
  const Tensor result = empty_tensor(like.shape(), like.dtype());
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  visit(like.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* to = result.data<T>();
    for (int64_t i = 0; i < result.numel(); ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const double uniform = static_cast<double>(state >> 11) * 0x1p-53;
      to[i] = static_cast<T>(uniform < 0.5 ? uniform - 1 : uniform);
    }
  });
  return result;
}

}  // namespace detail

// Compares the gradients of `function` at `inputs` with central differences. True when all are
// close; else a GradcheckError that shows both Jacobians, the worst entries and the likely cause,
// or false when raise_exception is off.
template <class F>
bool gradcheck(F function, const std::vector<Tensor>& inputs,
               const GradcheckOptions& options = {}) {
  return detail::GradientChecker("gradcheck", detail::checked_function(std::move(function)), inputs,
                                 options)
      .run();
}

// The same for the gradients themselves: the second order. `grad_outputs` are the gradients of the
// function's outputs to start from; arbitrary ones when left out.
template <class F>
bool gradgradcheck(F function, const std::vector<Tensor>& inputs,
                   const GradcheckOptions& options = {}, std::vector<Tensor> grad_outputs = {}) {
  const detail::CheckedFunction call = detail::checked_function(std::move(function));
  const auto usable = [](const Tensor& t) {
    return t.defined() && is_floating(t.dtype()) && t.requires_grad();
  };
  if (grad_outputs.empty()) {
    const EnableGrad scope;
    for (const Tensor& output : call(inputs)) {
      if (!usable(output)) continue;
      grad_outputs.push_back(detail::arbitrary_like(output, grad_outputs.size() + 1));
      grad_outputs.back().requires_grad_();
    }
  }
  std::vector<Tensor> all = inputs;
  all.insert(all.end(), grad_outputs.begin(), grad_outputs.end());
  const size_t input_count = inputs.size();
  const detail::CheckedFunction gradient = [call, usable,
                                            input_count](const std::vector<Tensor>& given) {
    const EnableGrad scope;
    const std::vector<Tensor> own(given.begin(),
                                  given.begin() + static_cast<std::ptrdiff_t>(input_count));
    std::vector<Tensor> roots, wanted;
    for (const Tensor& output : call(own)) {
      if (usable(output)) roots.push_back(output);
    }
    for (const Tensor& input : own) {
      if (usable(input)) wanted.push_back(input);
    }
    GradientOptions gradient_options;
    gradient_options.seeds.assign(given.begin() + static_cast<std::ptrdiff_t>(input_count),
                                  given.end());
    gradient_options.create_graph = gradient_options.allow_unused = true;
    std::vector<Tensor> results(wanted.size());
    if (!roots.empty()) results = gradients(roots, wanted, gradient_options);
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].defined()) continue;
      results[i] = empty_tensor(wanted[i].shape(), wanted[i].dtype());
      fill_elements(results[i], 0);
    }
    return results;
  };
  return detail::GradientChecker("gradgradcheck", gradient, all, options).run();
}

TENON_NAMESPACE_END
